import ArgumentParser
import Sessions
import Wire

/// `postern boards`: what one has claimed.
struct BoardsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "boards", abstract: "List boards, or let go of one.",
        subcommands: [List.self, Release.self], defaultSubcommand: List.self)

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List your boards.")

        @OptionGroup var place: Place
        @Flag(help: "Everyone's boards; for administrators.") var everyone = false

        func perform(in surroundings: Surroundings) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let answer = try await client.own(.get, "/boards" + (everyone ? "?everyone=true" : ""))
            let boards = try results(in: answer, BoardRow.init(json:))
            if place.json { return surroundings.emit(.array(boards.map(\.json))) }
            guard !boards.isEmpty else { return surroundings.note("no boards") }
            let times = surroundings.times
            var table = Table(
                "NAME", "STATUS", "SESSION", "EXPIRES", "LAST SEEN", "OWNER", "BOARD")
            for board in boards {
                table.add(
                    board.name, board.condition, board.sessionState ?? "none",
                    board.session == nil ? "" : times.show(board.sessionExpiresAt),
                    times.show(board.lastSeen), board.owner, board.installation.description)
            }
            surroundings.show(table)
        }
    }

    struct Release: Verb {
        static let configuration = CommandConfiguration(
            commandName: "release",
            abstract: "Let go of a board: its session ends, and another may claim it.")

        @OptionGroup var place: Place
        @Argument(help: ArgumentHelp("The board's installation id.", valueName: "board"))
        var board: String

        func perform(in surroundings: Surroundings) async throws(CommandFailure) {
            guard let id = InstallationID(board) else {
                throw .usage("a board's id is a UUID in lower case, as `postern boards` shows it")
            }
            let client = try place.login(in: surroundings).client
            let told = BrokerTold(try await client.own(.delete, "/boards/\(id)"))
            surroundings.step(true, "released \(id)\(told.words)")
            if place.json {
                surroundings.emit(.object([
                    "installationId": .string(id.description), "brokerTold": told.json,
                ]))
            }
        }
    }
}
