package import Sessions

extension Session {
    private static let known: Set<String> = [
        "objectId", "user", "restricted", "createdWith", "installationId", "createdAt",
        "expiresAt", "sessionToken", "accessToken", "refreshToken",
    ]

    /// Reads a session as the contract writes it. Other members become custom fields, without those
    /// that no app may see.
    package init(json: JSONObject) throws(WireError) {
        let origin = try json.object("createdWith")
        self.init(
            objectID: try json.parsed("objectId", ObjectID.init),
            user: try json.parsed("user", UserID.init),
            restricted: try json.required("restricted") { $0.asBool },
            createdWith: CreatedWith(
                action: try origin.string("action"),
                authProvider: try origin.string("authProvider")),
            installationID: try json.optional("installationId") { value in
                value.asString.flatMap(InstallationID.init)
            },
            createdAt: try json.time("createdAt"),
            expiresAt: try json.optional("expiresAt") { value in
                value.asInteger.flatMap(Timestamp.init(seconds:))
            },
            custom: Disclosure.of(json.members.filter { !Self.known.contains($0.key) }))
    }

    /// The session as the contract writes it, without any token.
    package var json: JSONValue {
        var members = Disclosure.of(custom.filter { !Self.known.contains($0.key) })
        members["objectId"] = .string(objectID.description)
        members["user"] = .string(user.description)
        members["restricted"] = .bool(restricted)
        members["createdWith"] = .object([
            "action": .string(createdWith.action),
            "authProvider": .string(createdWith.authProvider),
        ])
        members["installationId"] = installationID.map { .string($0.description) } ?? .null
        members["createdAt"] = .time(createdAt)
        members["expiresAt"] = expiresAt.map(JSONValue.time) ?? .null
        return .object(members)
    }
}

extension UserProfile {
    /// Reads a user as the contract writes it, without the members that no app may see.
    package init(json: JSONObject) throws(WireError) {
        self.init(
            objectID: try json.parsed("objectId", UserID.init),
            username: try json.string("username"),
            custom: Disclosure.of(json.members.filter {
                $0.key != "objectId" && $0.key != "username"
            }))
    }

    package var json: JSONValue {
        var members = Disclosure.of(custom)
        members["objectId"] = .string(objectID.description)
        members["username"] = .string(username)
        return .object(members)
    }
}

extension JSONObject {
    package func session(_ name: String) throws(WireError) -> Session {
        try Session(json: try object(name))
    }

    package func user(_ name: String) throws(WireError) -> UserProfile {
        try UserProfile(json: try object(name))
    }
}

extension Refusal {
    /// Reads `{"code", "error"}`, and `retryAfter` if it is 1 to 3600 s. Removes control characters
    /// from the text, and cuts it at 500 bytes.
    package init(json: JSONObject) throws(WireError) {
        guard let code = Int(exactly: try json.integer("code")) else { throw .mistyped("code") }
        let text = try json.string("error").withoutControlCharacters
        self.init(code: code, text: text.cut(to: 500))
        let seconds = json.members["retryAfter"]?.asInteger ?? 0
        if (1...3600).contains(seconds) { retryAfter = .seconds(seconds) }
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "code": .integer(Int64(code)), "error": .string(text),
        ]
        members["retryAfter"] = retryAfter.map { .integer($0.components.seconds) }
        return .object(members)
    }
}
