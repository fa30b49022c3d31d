package import Sessions
package import Wire

/// A request of a person or a program over the control socket.
package enum ControlRequest: Equatable, Sendable {
    case status
    case session
    /// The outbox with the newest dead letters, at most this many.
    case queue(dead: Int64)
    case pair
    /// A new claim secret, even if the board is claimed.
    case pairNew
    /// Renews the tokens and validates the session. With minutes, it also extends the session.
    /// Answered after the authority's answer, or after `CommandWaits.patience`.
    case refresh(minutes: Int64?)
    /// Ends the session on this board at once. The answer waits like that of `refresh`.
    case logout
    /// Confirms that no policy file is intended. A missing policy file then no longer refuses
    /// writes.
    case acceptNoPolicy
    /// The source of the storage key.
    case vault
    /// A new storage key from the named source. Nil: from the source in the settings.
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
