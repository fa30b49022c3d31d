package import Sessions

/// A message from a board to its authority: the plaintext of a sealed message.
///
/// Source: the wire contract, The content.
package struct BoardMessage: Sendable {
    package enum Body: Sendable {
        case provisionAccepted(re: MessageID, session: ObjectID)
        case provisionRejected(re: MessageID, error: Refusal)
        case sessionEnded(re: MessageID, session: ObjectID)
        /// The board holds what a `session.updated` brought, durably.
        case sessionConfirmed(re: MessageID, session: ObjectID)
        case commandResult(CommandResult)
        /// The heartbeat; with minutes it also extends the session. A malformed report counts as
        /// none, because a report decides nothing.
        case authenticate(SessionToken, durationMinutes: Int64?, report: BoardReport? = nil)
        case refresh(RefreshToken)
        case revoke(SessionToken)
        case list(SessionToken)
        case user(SessionToken)
        /// The rules in force on the board, for the board that replaces it.
        case saveConfiguration(SessionToken, BoardConfiguration)
        /// Asks for the rules of the board that this one replaced.
        case getConfiguration(SessionToken)
        /// A type that this version does not know.
        case unknown
    }

    package let id: MessageID
    package let issuedAt: Timestamp
    /// The board does not trust its clock: it checks no expiry and asks for the time.
    package let clockUnset: Bool
    package let body: Body

    package init(id: MessageID, issuedAt: Timestamp, clockUnset: Bool, body: Body) {
        self.id = id
        self.issuedAt = issuedAt
        self.clockUnset = clockUnset
        self.body = body
    }
}

extension BoardMessage.Body {
    /// The session token that authenticates the message, if there is one.
    package var sessionToken: SessionToken? {
        switch self {
        case .authenticate(let token, _, _), .revoke(let token), .list(let token),
            .user(let token), .saveConfiguration(let token, _), .getConfiguration(let token):
            token
        case .refresh, .provisionAccepted, .provisionRejected, .sessionEnded,
            .sessionConfirmed, .commandResult, .unknown: nil
        }
    }

    /// Whether the message's token must not be checked while the board's clock is wrong. A `revoke`
    /// may have been sealed long before it was sent, and ends only its own session.
    package var needsClock: Bool {
        switch self {
        case .authenticate, .refresh, .list, .user, .saveConfiguration, .getConfiguration: true
        case .revoke, .provisionAccepted, .provisionRejected, .sessionEnded,
            .sessionConfirmed, .commandResult, .unknown: false
        }
    }
}

/// A message whose plaintext could not be parsed completely.
package struct UnreadableMessage: Error, Equatable, Sendable {
    /// Nil if even the id could not be read. Such a message cannot be answered.
    package let id: MessageID?
    package let reason: WireError
}

extension BoardMessage {
    /// Parses the plaintext of an opened message.
    package init(parsing plaintext: [UInt8]) throws(UnreadableMessage) {
        var id: MessageID?
        do throws(WireError) {
            let json = try JSONObject(parsing: plaintext)
            let message = try json.parsed("id", MessageID.init)
            id = message
            self.init(
                id: message, issuedAt: try json.time("iat"),
                clockUnset: json.members["clock"] == .string("unset"),
                body: try Body(json: json))
        } catch {
            throw UnreadableMessage(id: id, reason: error)
        }
    }

    package var plaintext: [UInt8] {
        var members = body.members
        members["id"] = .string(id.description)
        members["iat"] = .time(issuedAt)
        if clockUnset { members["clock"] = .string("unset") }
        return JSONValue.object(members).bytes
    }
}

extension BoardMessage.Body {
    fileprivate init(json: JSONObject) throws(WireError) {
        switch try json.string("type") {
        case "provision.accepted":
            self = .provisionAccepted(
                re: try json.parsed("re", MessageID.init),
                session: try json.parsed("sessionId", ObjectID.init))
        case "provision.rejected":
            self = .provisionRejected(
                re: try json.parsed("re", MessageID.init),
                error: try Refusal(json: try json.object("error")))
        case "session.ended":
            self = .sessionEnded(
                re: try json.parsed("re", MessageID.init),
                session: try json.parsed("sessionId", ObjectID.init))
        case "session.confirmed":
            self = .sessionConfirmed(
                re: try json.parsed("re", MessageID.init),
                session: try json.parsed("sessionId", ObjectID.init))
        case "command.result":
            self = .commandResult(try CommandResult(json: json))
        case "session.authenticate":
            self = .authenticate(
                try json.parsed("sessionToken", SessionToken.init),
                durationMinutes: try json.optional("durationMinutes") { $0.asInteger },
                report: json.report)
        case "session.refresh":
            self = .refresh(try json.parsed("refreshToken", RefreshToken.init))
        case "session.revoke":
            self = .revoke(try json.parsed("sessionToken", SessionToken.init))
        case "session.list":
            self = .list(try json.parsed("sessionToken", SessionToken.init))
        case "user.get":
            self = .user(try json.parsed("sessionToken", SessionToken.init))
        case "configuration.save":
            self = .saveConfiguration(
                try json.parsed("sessionToken", SessionToken.init),
                try BoardConfiguration(json: json))
        case "configuration.get":
            self = .getConfiguration(try json.parsed("sessionToken", SessionToken.init))
        default:
            self = .unknown
        }
    }

    fileprivate var members: [String: JSONValue] {
        switch self {
        case .provisionAccepted(let re, let session):
            ["type": "provision.accepted", "re": re.description, "sessionId": session.description]
                .mapValues(JSONValue.string)
        case .provisionRejected(let re, let error):
            ["type": .string("provision.rejected"), "re": .string(re.description),
             "error": error.json]
        case .sessionEnded(let re, let session):
            ["type": "session.ended", "re": re.description, "sessionId": session.description]
                .mapValues(JSONValue.string)
        case .sessionConfirmed(let re, let session):
            ["type": "session.confirmed", "re": re.description, "sessionId": session.description]
                .mapValues(JSONValue.string)
        case .commandResult(let result): result.members
        case .authenticate(let token, let minutes, let report):
            ["type": .string("session.authenticate"), "sessionToken": .string(token.reveal())]
                .merging(minutes.map { ["durationMinutes": .integer($0)] } ?? [:]) { $1 }
                .merging(report.map { ["report": $0.json] } ?? [:]) { $1 }
        case .refresh(let token):
            ["type": "session.refresh", "refreshToken": token.reveal()]
                .mapValues(JSONValue.string)
        case .revoke(let token):
            ["type": "session.revoke", "sessionToken": token.reveal()]
                .mapValues(JSONValue.string)
        case .list(let token):
            ["type": "session.list", "sessionToken": token.reveal()].mapValues(JSONValue.string)
        case .user(let token):
            ["type": "user.get", "sessionToken": token.reveal()].mapValues(JSONValue.string)
        case .saveConfiguration(let token, let configuration):
            configuration.members.merging([
                "type": .string("configuration.save"), "sessionToken": .string(token.reveal()),
            ]) { $1 }
        case .getConfiguration(let token):
            ["type": "configuration.get", "sessionToken": token.reveal()]
                .mapValues(JSONValue.string)
        case .unknown:
            ["type": .string("unknown")]
        }
    }
}

extension JSONObject {
    fileprivate var report: BoardReport? {
        guard let members = members["report"]?.asObject else { return nil }
        do throws(WireError) {
            return try BoardReport(json: JSONObject(members))
        } catch {
            return nil
        }
    }
}

extension BoardMessage {
    /// The type of a message, without its content.
    package enum Kind: String, Sendable, CaseIterable {
        case provisionAccepted = "provision.accepted"
        case provisionRejected = "provision.rejected"
        case sessionEnded = "session.ended"
        case sessionConfirmed = "session.confirmed"
        case commandResult = "command.result"
        case authenticate = "session.authenticate"
        case refresh = "session.refresh"
        case revoke = "session.revoke"
        case list = "session.list"
        case user = "user.get"
        case saveConfiguration = "configuration.save"
        case getConfiguration = "configuration.get"
        case unknown
    }
}

extension BoardMessage.Body {
    package var kind: BoardMessage.Kind {
        switch self {
        case .provisionAccepted: .provisionAccepted
        case .provisionRejected: .provisionRejected
        case .sessionEnded: .sessionEnded
        case .sessionConfirmed: .sessionConfirmed
        case .commandResult: .commandResult
        case .authenticate: .authenticate
        case .refresh: .refresh
        case .revoke: .revoke
        case .list: .list
        case .user: .user
        case .saveConfiguration: .saveConfiguration
        case .getConfiguration: .getConfiguration
        case .unknown: .unknown
        }
    }
}
