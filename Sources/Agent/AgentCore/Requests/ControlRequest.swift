package import Sessions
package import Wire

/// What a person or a program asks over the control socket.
package enum ControlRequest: Equatable, Sendable {
    case status
    case session
    /// The outbox, with so many of its dead letters, the newest.
    case queue(dead: Int64)
    case pair
    /// A fresh claim secret although the board is claimed.
    case pairNew
    /// Renews the tokens and validates the session; with minutes, it also extends it. Answered
    /// when the authority has answered, or after `CommandWaits.patience`.
    case refresh(minutes: Int64?)
    /// Ends the session on this board at once. Answered like a refresh.
    case logout
    /// No policy file is meant: one that was in force and is gone refuses no write any more.
    case acceptNoPolicy
    /// What keeps the storage key.
    case vault
    /// A new storage key, kept by the named source; nil: the one that the settings name.
    case rekey(to: String?)

    package init(json: JSONObject) throws(WireError) {
        switch try json.string("request") {
        case "status": self = .status
        case "session": self = .session
        case "queue": self = .queue(dead: try json.integer("dead"))
        case "pair": self = .pair
        case "pair-new": self = .pairNew
        case "refresh":
            self = .refresh(minutes: try json.optional("durationMinutes") { $0.asInteger })
        case "logout": self = .logout
        case "accept-no-policy": self = .acceptNoPolicy
        case "vault": self = .vault
        case "rekey": self = .rekey(to: try json.optional("source") { $0.asString })
        default: throw .mistyped("request")
        }
    }

    package var json: JSONValue {
        let name = switch self {
        case .status: "status"
        case .session: "session"
        case .queue: "queue"
        case .pair: "pair"
        case .pairNew: "pair-new"
        case .refresh: "refresh"
        case .logout: "logout"
        case .acceptNoPolicy: "accept-no-policy"
        case .vault: "vault"
        case .rekey: "rekey"
        }
        var members: [String: JSONValue] = ["request": .string(name)]
        if case .refresh(let minutes?) = self { members["durationMinutes"] = .integer(minutes) }
        if case .queue(let dead) = self { members["dead"] = .integer(dead) }
        if case .rekey(let source?) = self { members["source"] = .string(source) }
        return .object(members)
    }
}
