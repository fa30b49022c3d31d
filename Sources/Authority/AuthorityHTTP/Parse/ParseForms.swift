import AuthorityCore
import Sessions
import Wire

// Objects in the form of Parse's REST API. The form of a session or user has no token. A token is
// only in the answer that creates its session, and in the caller's own `sessions/me` and
// `users/me`.

extension JSONValue {
    /// Parse's `Date` type. Source: Parse REST guide, Data types.
    static func parseDate(_ time: Timestamp?) -> JSONValue {
        guard let time else { return .null }
        return .object(["__type": .string("Date"), "iso": .string(ParseDate.print(time))])
    }

    static func userPointer(_ user: UserID) -> JSONValue { pointer("_User", user.description) }

    static func pointer(_ className: String, _ id: String) -> JSONValue {
        .object([
            "__type": .string("Pointer"), "className": .string(className),
            "objectId": .string(id),
        ])
    }

    static func optional(_ text: (some CustomStringConvertible)?) -> JSONValue {
        text.map { .string($0.description) } ?? .null
    }
}

extension [String: JSONValue] {
    /// The values that the operations of a request made, which its sender cannot know.
    /// Source: Parse server, `DatabaseController.sanitizeDatabaseResult`.
    func results(of sent: [String: JSONValue]) -> [String: JSONValue] {
        filter { name, _ in sent[name]?.asObject?["__op"] != nil }
    }
}

extension Session {
    /// Parse's `_Session`, without its token.
    var parseForm: [String: JSONValue] {
        var members = custom
        for token in ["sessionToken", "accessToken", "refreshToken"] { members[token] = nil }
        members["objectId"] = .string(objectID.description)
        members["user"] = .userPointer(user)
        members["restricted"] = .bool(restricted)
        members["createdWith"] = .object([
            "action": .string(createdWith.action),
            "authProvider": .string(createdWith.authProvider),
        ])
        members["installationId"] = .optional(installationID)
        members["createdAt"] = .string(ParseDate.print(createdAt))
        members["updatedAt"] = members["createdAt"]
        members["expiresAt"] = .parseDate(expiresAt)
        return members
    }
}

extension SessionView {
    /// Parse's `_Session`, with more members for its owner.
    var parseForm: [String: JSONValue] {
        var members = session.parseForm
        members["state"] = .string(state.rawValue)
        members["lastSeen"] = .parseDate(lastSeen)
        // Each use of a session counts as an update.
        members["updatedAt"] = .string(ParseDate.print(lastSeen ?? session.createdAt))
        members["boardName"] = .optional(boardName)
        members["username"] = .string(username)
        members["generation"] = generation.map { .integer(Int64(clamping: $0)) } ?? .null
        members["endsAt"] = .parseDate(outlook?.endsAt)
        members["endCause"] = .optional(outlook?.cause.rawValue)
        members["latestEnd"] = .parseDate(latestEnd)
        members["scope"] = scope?.json ?? .null
        members["scopePending"] = .bool(isScopePending)
        return members
    }
}

extension LoggedIn {
    /// The user with the new session's token: Parse's answer to a login.
    var userForm: [String: JSONValue] {
        var members = user.parseForm
        members["sessionToken"] = .string(token.reveal())
        return members
    }

    /// The new session with its token.
    var sessionForm: [String: JSONValue] {
        var members = session.parseForm
        members["sessionToken"] = .string(token.reveal())
        return members
    }
}

extension UserView {
    /// Parse's `_User`.
    var parseForm: [String: JSONValue] {
        var members = fields
        members["objectId"] = .string(objectID.description)
        members["username"] = .string(username)
        members["createdAt"] = .string(ParseDate.print(createdAt))
        members["updatedAt"] = .string(ParseDate.print(updatedAt))
        members["isAdministrator"] = .bool(isAdministrator)
        members["mayClaim"] = .bool(mayClaim)
        members["enabled"] = .bool(isEnabled)
        members["email"] = email.map { .string($0.description) }
        return members
    }
}
