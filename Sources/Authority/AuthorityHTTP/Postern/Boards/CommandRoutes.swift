import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Commands to the apps of a board.
struct CommandRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(
                .post, "/boards/:iid/commands",
                bodyLimit: BoardCommand.sizeLimit + HTTPRoute.smallBody, .session(send)),
            HTTPRoute(.get, "/boards/:iid/commands", .session(commands)),
            HTTPRoute(.get, "/boards/:iid/commands/:id", .session(command)),
        ]
    }

    /// `{"app", "command", "deadlineSeconds"?}`. The command is any JSON value.
    private func send(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let board = try call.parameter("iid", InstallationID.init)
        let json = try call.json()
        let order = try reading { () throws(WireError) in
            guard let content = json.members["command"] else { throw .missing("command") }
            return (
                app: try json.string("app"), content: content,
                seconds: try json.optional("deadlineSeconds") { $0.asInteger })
        }
        guard let app = AppName(order.app) else {
            throw .refused(Refusal(.badKeyName, "an app's name has at most 32 of a-z, 0-9 and -"))
        }
        let seconds = order.seconds ?? CommandOrder.usualWait.components.seconds
        guard (1...BoardCommand.longestWait.components.seconds).contains(seconds) else {
            throw .refused(Refusal(.validation, "deadlineSeconds must be from 1 to 86400"))
        }
        let sent = try await frontend.send(
            CommandOrder(
                board: board, app: app, content: order.content, wait: .seconds(seconds)),
            by: caller)
        return Answer(.created, sent.form)
    }

    private func commands(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let board = try call.parameter("iid", InstallationID.init)
        let commands = try await frontend.commands(of: board, by: caller)
        return Answer(["commands": .array(commands.map { .object($0.form) })])
    }

    private func command(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let board = try call.parameter("iid", InstallationID.init)
        let id = try call.parameter("id", MessageID.init)
        return Answer(try await frontend.command(id, of: board, by: caller).wholeForm())
    }
}

extension SentCommand {
    /// Without the texts of the command and of its answer.
    fileprivate var form: [String: JSONValue] {
        [
            "id": .string(record.id.description), "app": .string(record.app.description),
            "state": .string(record.state.rawValue), "createdAt": .time(record.createdAt),
            "deadline": .time(record.deadline), "delivered": .bool(record.delivery != .none),
            "uncertain": .bool(record.delivery == .uncertain), "user": .optional(username),
        ]
    }

    /// `command` and `answer` are absent if they are deleted or were never there; each may be
    /// `null` by itself.
    fileprivate func wholeForm() throws(AuthorityError) -> [String: JSONValue] {
        var members = form
        members["command"] = try Self.value(record.text)
        members["answer"] = try Self.value(record.answer)
        members["error"] = record.refusal?.json
        return members
    }

    private static func value(_ text: String?) throws(AuthorityError) -> JSONValue? {
        guard let text else { return nil }
        do throws(WireError) {
            return try JSONValue(parsing: Array(text.utf8))
        } catch {
            throw .failed(layer: "store", text: "a stored command is damaged")
        }
    }
}
