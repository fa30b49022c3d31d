import ArgumentParser
import Sessions
import Wire

/// `postern boards`: the boards that the user has claimed.
struct BoardsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "boards",
        abstract: "List boards and open claims; show, change, renew, share, replace, release.",
        subcommands: [
            List.self, Show.self, Rename.self, Label.self, Renew.self, Replace.self, Release.self,
            Claims.self, EndClaim.self, ForgetRevocation.self, Share.self, Shares.self,
            Unshare.self, Accept.self, Former.self, DeleteData.self, Configuration.self,
        ], defaultSubcommand: List.self)

    static let boardHelp = ArgumentHelp(
        "The board's name, its id, or a unique beginning of its id.", valueName: "board")

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List your boards, and those that others share with you.")

        @OptionGroup var place: Place
        @Flag(help: "Everyone's boards; for administrators.") var everyone = false
        @Option(help: "Only boards with this label.") var label: String?
        @Option(help: ArgumentHelp(
            "Only boards with this in the name, or at the beginning of the id.",
            valueName: "text"))
        var search: String?

        func validate() throws {
            if let label { _ = try BoardsCommand.label(label) }
            guard let search else { return }
            guard !search.isEmpty, ClaimURL.shown(search) == search else {
                throw ValidationError("--search has 1 to 64 visible characters")
            }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let boards = try await client.boards(
                everyone: everyone, label: label, search: search)
            if place.json { return surroundings.emit(.array(boards.map(\.json))) }
            guard !boards.isEmpty else { return surroundings.note("no boards") }
            let times = surroundings.times
            var table = TextTable(
                "NAME", "STATUS", "SESSION", "ENDS", "LAST SEEN", "LABELS", "OWNER", "BOARD")
            for board in boards {
                table.add(
                    board.name, board.condition, board.sessionWords,
                    board.session == nil ? "" : times.show(board.shownEnd),
                    times.show(board.lastSeen), board.labels.joined(separator: " "),
                    board.ownerWords, board.installation.description)
            }
            surroundings.show(table)
        }
    }

    struct Rename: Verb {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Give a board another name.",
            discussion: """
                With --label, give only the name, with {n} for a number: barn-{n} names barn-1, \
                barn-2 and so on, in the order of the present names. Boards that have such a name \
                keep it. No name is given that another board in your list has.
                """)

        @OptionGroup var place: Place
        @OptionGroup var group: BoardGroup
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String?
        @Argument(help: "The new name, at most 64 characters.") var name: String?

        /// The name is the first argument after `--label`, else the second.
        private var wanted: String? { group.label == nil ? name : name == nil ? board : nil }

        func validate() throws {
            guard let wanted else {
                throw ValidationError("give a board and a name, or --label LABEL and a name")
            }
            guard group.label == nil || wanted.ranges(of: "{n}").count == 1 else {
                throw ValidationError("with --label the name needs {n} once, such as barn-{n}")
            }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let wanted = wanted ?? ""
            if let label = group.label {
                let boards = try await client.group(label)
                let listed = try await client.boards(everyone: false, label: nil, search: nil)
                var names = GroupNames(pattern: wanted, taken: listed.map(\.name))
                var chosen: [InstallationID: String] = [:]
                for board in boards {
                    chosen[board.installation] = names.name(insteadOf: board.name)
                }
                return try await client.each(of: boards, asJSON: place.json, surroundings) {
                    [chosen] (board) throws(CommandFailure) in
                    guard let name = chosen[board.installation] else {
                        return ("keeps its name", board.json)
                    }
                    let row = try await rename(board.installation, name, client)
                    return ("renamed to \(Printable.line(row.name))", row.json)
                }
            }
            let board = try await client.board(named: board ?? "")
            let row = try await rename(board.id, wanted, client)
            surroundings.step(true, "renamed \(board) to \(Printable.line(row.name))")
            if place.json { surroundings.emit(row.json) }
        }

        private func rename(
            _ board: InstallationID, _ name: String, _ client: AuthorityClient
        ) async throws(CommandFailure) -> BoardRow {
            let answer = try await client.own(.put, "/boards/\(board)", ["name": .string(name)])
            return try decoding { () throws(WireError) in try BoardRow(json: answer) }
        }
    }

    struct Release: Verb {
        static let configuration = CommandConfiguration(
            commandName: "release",
            abstract: "Release a board: its session ends, and other users may claim it.",
            discussion: """
                What the authority has kept of the board's data is deleted. With --keep-data it \
                stays with the board's owner: see `postern boards former`.
                """)

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String
        @Flag(help: "Keep the board's data. Only its present owner can read it.")
        var keepData = false

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let board = try await client.board(named: board)
            if !keepData {
                surroundings.note("deleting the data of \(board); --keep-data would keep it")
            }
            let told = BrokerDelivery(try await client.own(
                .delete, "/boards/\(board.id)\(keepData ? "?keepData=true" : "")"))
            told.report(
                "released \(board)", "installationId", board.id.description, asJSON: place.json,
                in: surroundings)
        }
    }
}
