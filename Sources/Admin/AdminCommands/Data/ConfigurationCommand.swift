import ArgumentParser
import LinuxIO
import Sessions
import Wire

extension BoardsCommand {
    /// `postern boards configuration`: the rules that a board has sent to its authority.
    struct Configuration: Verb {
        static let configuration = CommandConfiguration(
            commandName: "configuration",
            abstract: "Print the policy and the routes that a board has sent, or write them.",
            discussion: """
                A board sends them with [backup] configuration = true in its agent.toml. After \
                `postern boards replace OLD NEW` the new board asks for those of the old one.
                """)

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String
        @Option(
            help: ArgumentHelp(
                "Write policy.toml and routes.toml to this folder. Files there are not replaced.",
                valueName: "folder"),
            completion: .directory)
        var out: String?

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let board = try await client.board(named: board)
            let answer = try await client.own(.get, "/boards/\(board.id)/configuration")
            let kept = try decoding { () throws(WireError) in try BoardConfiguration(json: answer) }
            if let out {
                try write(kept, to: out, surroundings)
            } else if !place.json {
                for (name, text) in Self.files(of: kept) {
                    surroundings.out("# \(name)")
                    let text = text.replacing("\t", with: "    ")
                    for line in text.split(whereSeparator: \.isNewline) {
                        surroundings.out(Printable.line(String(line)))
                    }
                }
            }
            if place.json { surroundings.emit(.object(answer.members)) }
        }

        private static func files(of kept: BoardConfiguration) -> [(name: String, text: String)] {
            [("policy.toml", kept.policy), ("routes.toml", kept.routes)].compactMap { name, text in
                text.map { (name, $0) }
            }
        }

        private func write(
            _ kept: BoardConfiguration, to folder: String, _ surroundings: CommandEnvironment
        ) throws(CommandFailure) {
            do throws(FileFailure) {
                if !PrivateFile.isThere(folder) { try PrivateFolder.prepare(folder) }
                for (name, text) in Self.files(of: kept) {
                    let file = try UnfinishedFile("\(folder)/\(name)", replaces: false)
                    try file.write(text.utf8)
                    try file.finish()
                    surroundings.step(true, "\(folder)/\(name)")
                }
            } catch {
                if case .exists = error { throw .usage("\(error); name another folder") }
                throw .failed(layer: "file", text: error.description)
            }
        }
    }
}
