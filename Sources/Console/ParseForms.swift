import AuthorityCore
import Sessions
import Wire

// Objects as Parse's REST API writes them. No form here has a token; the one token that is
// ever sent stands in the login's own answer.

extension JSONValue {
    /// Parse's `Date` type. Source: Parse REST guide, Data types.
    static func parseDate(_ time: Timestamp?) -> JSONValue {
        guard let time else { return .null }
        return .object(["__type": .string("Date"), "iso": .string(ParseDate.print(time))])
    }

    static func userPointer(_ user: UserID) -> JSONValue {
        .object([
            "__type": .string("Pointer"), "className": .string("_User"),
            "objectId": .string(user.description),
        ])
    }

    static func optional(_ text: (some CustomStringConvertible)?) -> JSONValue {
        text.map { .string($0.description) } ?? .null
    }
}

extension SessionView {
    /// Parse's `_Session`, and what its owner sees besides.
    var parseForm: [String: JSONValue] {
        var members = session.custom
        members["objectId"] = .string(session.objectID.description)
        members["user"] = .userPointer(session.user)
        members["restricted"] = .bool(session.restricted)
        members["createdWith"] = .object([
            "action": .string(session.createdWith.action),
            "authProvider": .string(session.createdWith.authProvider),
        ])
        members["installationId"] = .optional(session.installationID)
        members["createdAt"] = .string(ParseDate.print(session.createdAt))
        members["expiresAt"] = .parseDate(session.expiresAt)
        members["state"] = .string(state.rawValue)
        members["lastSeen"] = .parseDate(lastSeen)
        members["boardName"] = .optional(boardName)
        members["username"] = .string(username)
        for token in ["sessionToken", "accessToken", "refreshToken"] { members[token] = nil }
        return members
    }
}

extension UserView {
    /// Parse's `_User`.
    var parseForm: [String: JSONValue] {
        [
            "objectId": .string(objectID.description), "username": .string(username),
            "createdAt": .string(ParseDate.print(createdAt)),
            "isAdministrator": .bool(isAdministrator), "mayClaim": .bool(mayClaim),
        ]
    }
}
