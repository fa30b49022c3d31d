package import Gate
package import Sessions

/// A command from a person to an app on a board. Its id is the id of the message.
///
/// Source: the wire contract, Commands.
package struct BoardCommand: Equatable, Sendable {
    /// The most bytes of a command, and of an answer, as JSON text.
    package static let sizeLimit = 16 * 1024
    /// The longest time that a command may wait: 24 h.
    package static let longestWait = Duration.seconds(86_400)

    /// The session that the board must hold.
    package let session: ObjectID
    /// The name as it came: the policy decides whether it is an app's.
    package let app: String
    package let deadline: Timestamp
    package let content: JSONValue

    package init(session: ObjectID, app: String, deadline: Timestamp, content: JSONValue) {
        self.session = session
        self.app = app
        self.deadline = deadline
        self.content = content
    }

    init(json: JSONObject) throws(WireError) {
        session = try json.parsed("sessionId", ObjectID.init)
        app = try json.string("app")
        deadline = try json.time("deadline")
        content = try json.commandText("command")
        guard app.utf8.count <= 32 else { throw .mistyped("app") }
    }

    var members: [String: JSONValue] {
        [
            "type": .string("command"), "sessionId": .string(session.description),
            "app": .string(app), "deadline": .time(deadline), "command": content,
        ]
    }
}

/// What a board says of a command that it received.
///
/// Source: the wire contract, Commands.
package struct CommandResult: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        /// The board's bus has it. `isUncertain`: the agent or the bus ended meanwhile.
        case delivered(isUncertain: Bool)
        /// The app's answer.
        case answered(JSONValue)
        /// The board did not give it to the app.
        case refused(Refusal, rule: String?, field: String?)
        /// The deadline passed without an answer. `delivered`: whether the app had the command.
        case expired(delivered: Bool)

        /// A refusal by the board's policy.
        package static func refused(by rejection: Rejection) -> State {
            .refused(
                Refusal(rejection.code, rejection.reason), rule: "\(rejection.rule)",
                field: rejection.field?.cut(to: 253))
        }
    }

    /// The id of the command.
    package let re: MessageID
    package let session: ObjectID
    package let state: State

    package init(re: MessageID, session: ObjectID, state: State) {
        self.re = re
        self.session = session
        self.state = state
    }

    /// Whether nothing can follow.
    package var isFinal: Bool {
        if case .delivered = state { false } else { true }
    }

    package init(json: JSONObject) throws(WireError) {
        re = try json.parsed("re", MessageID.init)
        session = try json.parsed("sessionId", ObjectID.init)
        switch try json.string("state") {
        case "delivered":
            state = .delivered(isUncertain: json.members["uncertain"] == .bool(true))
        case "answered": state = .answered(try json.commandText("answer"))
        case "refused":
            let error = try json.object("error")
            state = .refused(
                try Refusal(json: error), rule: try error.shortText("rule"),
                field: try error.shortText("field"))
        case "expired": state = .expired(delivered: json.members["delivered"] == .bool(true))
        default: throw .mistyped("state")
        }
    }

    package var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "type": .string("command.result"), "re": .string(re.description),
            "sessionId": .string(session.description),
        ]
        switch state {
        case .delivered(let isUncertain):
            members["state"] = .string("delivered")
            if isUncertain { members["uncertain"] = .bool(true) }
        case .answered(let answer):
            members["state"] = .string("answered")
            members["answer"] = answer
        case .refused(let refusal, let rule, let field):
            members["state"] = .string("refused")
            members["error"] = refusal.json.with("rule", rule.map(JSONValue.string))
                .with("field", field.map(JSONValue.string))
        case .expired(let delivered):
            members["state"] = .string("expired")
            members["delivered"] = .bool(delivered)
        }
        return members
    }
}

extension JSONObject {
    /// Any JSON value, also `null`, of at most `BoardCommand.sizeLimit` bytes as text.
    fileprivate func commandText(_ name: String) throws(WireError) -> JSONValue {
        guard let value = members[name] else { throw .missing(name) }
        guard value.bytes.count <= BoardCommand.sizeLimit else {
            throw .tooLarge(limit: BoardCommand.sizeLimit)
        }
        return value
    }

    /// A text of at most 256 bytes; nil if the member is absent.
    fileprivate func shortText(_ name: String) throws(WireError) -> String? {
        guard let text = try optional(name, { $0.asString }) else { return nil }
        guard text.utf8.count <= 256 else { throw .mistyped(name) }
        return text
    }
}
