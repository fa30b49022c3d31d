package import Sessions

/// The authority's answer to one request, identified by the request's id.
///
/// Source: the wire contract, The content (`reply`).
package struct Reply: Sendable {
    /// The request's id.
    package var re: MessageID
    package var now: Timestamp
    /// Whether `now` has milliseconds. Without `nowMilliseconds` it has whole seconds.
    package var isExact: Bool
    package var outcome: Outcome
    /// Replaces the board's pinned signing keys.
    package var signKeys: [SigningKey]?

    package enum Outcome: Sendable {
        case error(Refusal)
        case result(Result)
    }

    /// The members of all kinds of result. Each request uses its own part.
    package struct Result: Sendable {
        package var session: Session?
        package var user: UserProfile?
        package var scope: ScopeDocument?
        package var accessToken: AccessToken?
        package var refreshToken: RefreshToken?
        package var sessions: [Session]?
        /// In a heartbeat's answer: see `Provision.spread`; nil: not given.
        package var spread: Duration?
        /// In a heartbeat's answer: whether another machine uses this board's identity.
        package var isShared = false
        /// In the answer to `configuration.get`; nil: the authority keeps none.
        package var configuration: BoardConfiguration?

        package init() {}
    }

    package init(
        re: MessageID, now: Timestamp, outcome: Outcome, signKeys: [SigningKey]? = nil,
        isExact: Bool = true
    ) {
        self.re = re
        self.now = now
        self.isExact = isExact
        self.outcome = outcome
        self.signKeys = signKeys
    }

    package init(json: JSONObject) throws(WireError) {
        re = try json.parsed("re", MessageID.init)
        let seconds = try json.time("now")
        let exact = try json.optional("nowMilliseconds") { value in
            value.asInteger.map(Timestamp.init(milliseconds:))
                .flatMap { $0.seconds == seconds.seconds ? $0 : nil }
        }
        now = exact ?? seconds
        isExact = exact != nil
        signKeys = json.members["signKeys"] == nil ? nil : try json.signingKeys("signKeys")
        if let error = json.members["error"] {
            guard let members = error.asObject else { throw .mistyped("error") }
            outcome = .error(try Refusal(json: JSONObject(members)))
        } else {
            outcome = .result(try Result(json: json))
        }
    }

    var members: [String: JSONValue] {
        var members: [String: JSONValue]
        switch outcome {
        case .error(let refusal): members = ["error": refusal.json]
        case .result(let result): members = result.members
        }
        members["type"] = .string("reply")
        members["re"] = .string(re.description)
        members["now"] = .time(now)
        if isExact { members["nowMilliseconds"] = .integer(now.milliseconds) }
        members["signKeys"] = signKeys.map { .array($0.map(\.json)) }
        return members
    }
}

extension Reply.Result {
    private static let sessionLimit = 1000

    init(json: JSONObject) throws(WireError) {
        if json.members["session"] != nil { session = try json.session("session") }
        if json.members["user"] != nil { user = try json.user("user") }
        scope = try json.scope("scope")
        spread = try json.spread()
        isShared = try json.optional("identityShared") { $0.asBool } ?? false
        configuration = try json.optional("configuration") { value throws(WireError) in
            guard let members = value.asObject else { return nil }
            return try BoardConfiguration(json: JSONObject(members))
        }
        accessToken = try json.optional("accessToken") { value in
            value.asString.flatMap(AccessToken.init)
        }
        refreshToken = try json.optional("refreshToken") { value in
            value.asString.flatMap(RefreshToken.init)
        }
        sessions = try json.optional("sessions") { value throws(WireError) in
            guard let values = value.asArray, values.count <= Self.sessionLimit else { return nil }
            var sessions: [Session] = []
            for value in values {
                guard let members = value.asObject else { return nil }
                sessions.append(try Session(json: JSONObject(members)))
            }
            return sessions
        }
    }

    var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["session"] = session?.json
        members["user"] = user?.json
        members["scope"] = scope?.json
        members["spread"] = spread.map { .integer($0.components.seconds) }
        if isShared { members["identityShared"] = .bool(true) }
        members["configuration"] = configuration.map { .object($0.members) }
        members["accessToken"] = accessToken.map { .string($0.reveal()) }
        members["refreshToken"] = refreshToken.map { .string($0.reveal()) }
        members["sessions"] = sessions.map { .array($0.map(\.json)) }
        return members
    }
}
