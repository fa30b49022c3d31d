import ArgumentParser
import LinuxIO
import Sessions
import Wire

extension SessionsCommand {
    struct ChangeScope: Verb {
        static let configuration = CommandConfiguration(
            commandName: "scope", abstract: "Change what a session may do on its board.",
            discussion: """
                The board takes the new scope at once, or at its next connect, and confirms it. \
                Messages that wait on the board are judged by it before they leave. What may not \
                leave any more is a dead letter there. With --label, give only the file; the \
                command does not wait for the boards.
                """)

        @OptionGroup var place: Place
        @OptionGroup var group: BoardGroup
        @Argument(help: SessionsCommand.sessionHelp, completion: .sessions) var id: String?
        @Argument(help: ArgumentHelp(
            "A JSON file with the scope; - reads it from standard input.", valueName: "file"),
            completion: .file())
        var file: String?

        @Option(help: ArgumentHelp(
            "How long to wait for the board; 5s if not given.", valueName: "span"))
        var wait: Span?

        private var patience: Span { wait ?? Span(seconds: 5) }
        /// The file is the first argument after `--label`, else the second.
        private var path: String? { group.label == nil ? file : file == nil ? id : nil }

        func validate() throws {
            guard path != nil else {
                throw ValidationError("give a session and a file, or --label LABEL and a file")
            }
            guard group.label == nil || wait == nil else {
                throw ValidationError("with --label the command does not wait")
            }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let scope = try ScopeFile(path ?? "-", in: surroundings).document.json.asObject ?? [:]
            let client = try place.login(in: surroundings).client
            if let label = group.label {
                let boards = try await client.group(label)
                return try await client.each(of: boards, asJSON: place.json, surroundings) {
                    (board) throws(CommandFailure) in
                    let row = try decode(try await client.own(
                        .put, "/sessions/\(try board.living())/scope", scope))
                    let words = row.isScopePending ? "changed; waiting for the board" : "changed"
                    return (words, row.json)
                }
            }
            let session = try await client.session(named: id ?? "")
            var row = try decode(try await client.own(
                .put, "/sessions/\(session.session.objectID)/scope", scope))
            if row.isScopePending {
                surroundings.step(true, "changed \(session.words); waiting for the board")
                row = try await follow(row, client)
            }
            if row.isScopePending {
                surroundings.note("the board has not confirmed it in "
                    + "\(TimeText.span(patience.seconds)): it takes the scope at its next connect")
            } else {
                surroundings.step(true, "in force on the board")
            }
            if place.json { surroundings.emit(row.json) }
        }

        /// Asks every half second until the board has confirmed or the wait has ended.
        private func follow(
            _ changed: SessionRow, _ client: AuthorityClient
        ) async throws(CommandFailure) -> SessionRow {
            let deadline = SystemClock.monotonic + patience.duration
            var last = changed
            while last.isScopePending, SystemClock.monotonic < deadline {
                do {
                    try await Task.sleep(for: .milliseconds(500))
                } catch {
                    break
                }
                last = try decode(
                    try await client.own(.get, "/sessions/\(changed.session.objectID)"))
            }
            return last
        }

        private func decode(_ answer: JSONObject) throws(CommandFailure) -> SessionRow {
            try decoding { () throws(WireError) in try SessionRow(json: answer) }
        }
    }
}

/// A scope that a person wrote into a file.
struct ScopeFile {
    private static let limit = 64 * 1024

    let document: ScopeDocument

    /// `-` is standard input.
    init(_ path: String, in surroundings: CommandEnvironment) throws(CommandFailure) {
        let bytes = try Self.read(path, in: surroundings)
        do throws(ScopeFault) {
            document = try ScopeDocument(written: bytes)
        } catch {
            throw .configuration("\(path == "-" ? "standard input" : path): \(error)")
        }
    }

    private static func read(
        _ path: String, in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> [UInt8] {
        if path == "-" {
            guard let bytes = try surroundings.input(limit) else {
                throw .usage("the scope has more than \(limit) bytes")
            }
            return bytes
        }
        do throws(FileFailure) {
            return try PrivateFile.read(path, limit: limit, strictestMode: 0o755)
        } catch {
            throw .configuration(error.description)
        }
    }
}
