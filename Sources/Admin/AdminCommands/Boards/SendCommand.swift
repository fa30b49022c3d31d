import ArgumentParser
import LinuxIO
import Sessions
import Wire

struct SendCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a command to an app on a board, and show its answer.",
        discussion: """
            The command is sealed to the board. The board's own policy decides whether it takes \
            it: policy.toml needs `commands = true` below [app.APP]. The app gets it at most \
            once, and never after the deadline. Exit status: 0 answered; 1 refused, no answer \
            by the deadline, or the outcome is not known; 5 the app did not get it.

            Other users of this machine can see arguments: a secret belongs on standard input. \
            Write `--` before a negative number.
            """)

    @OptionGroup var place: Place
    @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String
    @Argument(help: "The app's name.") var app: String
    @Argument(help: "The command, any JSON of at most 16 KiB; - reads standard input.")
    var command: String
    @Option(help: ArgumentHelp(
        "How long the command may wait for the board and its app, 1s to 24h.",
        valueName: "span"))
    var deadline = Span(seconds: 60)

    func validate() throws {
        guard (1...BoardCommand.longestWait.components.seconds).contains(deadline.seconds) else {
            throw ValidationError("a command waits from 1s to 24h")
        }
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let content = try content(in: surroundings)
        let client = try place.login(in: surroundings).client
        let board = try await client.board(named: board)
        let path = "/boards/\(board.id)/commands"
        let sent = try CommandRow(answer: try await client.own(.post, path, [
            "app": .string(app), "command": content,
            "deadlineSeconds": .integer(deadline.seconds),
        ]))
        surroundings.step(true, "sealed and sent to \(board) as \(sent.id)")
        let last = try await follow(sent, at: path, client, surroundings)
        if place.json { surroundings.emit(last.json) }
        switch last.state {
        case .answered:
            surroundings.step(true, "answered")
            if !place.json { surroundings.emit(last.answer ?? .null) }
        case .refused:
            surroundings.step(false, "refused")
            throw .failed(layer: "board", text: last.refusalWords)
        case .waiting, .delivered, .expired: throw late(last, surroundings)
        }
    }

    private func content(
        in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> JSONValue {
        let limit = BoardCommand.sizeLimit
        var bytes = Array(command.utf8)
        if command == "-" {
            guard let read = try surroundings.input(limit) else {
                throw .usage("the command is longer than \(limit) bytes")
            }
            bytes = read
        }
        do throws(WireError) {
            return try JSONValue(parsing: bytes, limit: limit)
        } catch {
            throw .usage("the command: \(error.refusal.text)")
        }
    }

    /// Asks every half second until the command has ended. Asks on while the authority does not
    /// answer. It waits a little after the deadline, so this waits longer.
    private func follow(
        _ sent: CommandRow, at path: String, _ client: AuthorityClient,
        _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> CommandRow {
        let end = SystemClock.monotonic + deadline.duration + .seconds(15)
        var last = sent
        var isShown = false
        var trouble: CommandFailure?
        while last.isOpen, SystemClock.monotonic < end, !Task.isCancelled {
            await surroundings.pause(.milliseconds(500))
            do throws(CommandFailure) {
                last = try CommandRow(answer: try await client.own(.get, "\(path)/\(sent.id)"))
                trouble = nil
            } catch {
                guard error.mayPass else { throw error }
                trouble = error
                await surroundings.pause(.seconds(2))
            }
            if last.isDelivered, !isShown {
                isShown = true
                let word = last.isUncertain ? "perhaps delivered" : "delivered"
                surroundings.step(!last.isUncertain, "\(word) to \(app)")
            }
        }
        guard last.isOpen else { return last }
        let reason = trouble?.sentence ?? "it has not ended"
        throw .failed(
            layer: "authority", text: "the outcome of command \(sent.id) is not known: \(reason)")
    }

    private func late(
        _ last: CommandRow, _ surroundings: CommandEnvironment
    ) -> CommandFailure {
        let span = TimeText.span(deadline.seconds)
        guard last.isDelivered else {
            surroundings.step(false, "not delivered")
            return .offline(
                layer: "board", text: "\(app) did not get the command in \(span), and will not get "
                    + "it later; see whether the board is online and the app runs")
        }
        surroundings.step(false, "no answer")
        let got = last.isUncertain ? "may have got" : "got"
        return .failed(
            layer: "app", text: "\(app) \(got) the command and gave no answer in \(span)")
    }
}

extension CommandFailure {
    /// Whether the same question may be answered later.
    fileprivate var mayPass: Bool {
        switch self {
        case .offline, .failed: true
        case .refused(let refusal): refusal.is(.rateLimit)
        default: false
        }
    }
}

/// A command, as the authority reports it.
struct CommandRow: Sendable {
    enum State: String, Sendable { case waiting, delivered, answered, refused, expired }

    let id: MessageID
    let state: State
    let isDelivered: Bool
    let isUncertain: Bool
    let answer: JSONValue?
    let error: JSONObject?

    init(answer: JSONObject) throws(CommandFailure) {
        self = try decoding { () throws(WireError) in try CommandRow(json: answer) }
    }

    init(json: JSONObject) throws(WireError) {
        id = try json.parsed("id", MessageID.init)
        state = try json.parsed("state", State.init(rawValue:))
        isDelivered = try json.optional("delivered") { $0.asBool } ?? false
        isUncertain = try json.optional("uncertain") { $0.asBool } ?? false
        answer = json.members["answer"]
        error = try json.optional("error") { $0.asObject.map(JSONObject.init) }
    }

    var isOpen: Bool { state == .waiting || state == .delivered }

    var refusalWords: String {
        let text = error?.members["error"]?.asString ?? "no reason"
        let code = error?.members["code"]?.asInteger.map { " (\($0))" } ?? ""
        let rule = error?.members["rule"]?.asString.map { ", rule \($0)" } ?? ""
        let field = error?.members["field"]?.asString.map { ", field \($0)" } ?? ""
        return Printable.line(text + code + rule + field)
    }

    var json: JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(id.description), "state": .string(state.rawValue),
            "delivered": .bool(isDelivered), "uncertain": .bool(isUncertain),
        ]
        members["answer"] = answer
        members["error"] = error.map { .object($0.members) }
        return .object(members)
    }
}
