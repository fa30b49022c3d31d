import ArgumentParser
import Sessions
import Wire

/// A board that the user had, with records that the user kept.
struct FormerBoardRow: Sendable {
    let installation: InstallationID
    /// Nil if somebody else has the board now.
    let name: String?
    let firstRecord: Timestamp
    let lastRecord: Timestamp

    init(json: JSONObject) throws(WireError) {
        installation = try json.parsed("installationId", InstallationID.init)
        name = try json.optional("name") { $0.asString }
        firstRecord = try json.time("firstRecord")
        lastRecord = try json.time("lastRecord")
    }

    var json: JSONValue {
        .object([
            "installationId": .string(installation.description),
            "name": name.map(JSONValue.string) ?? .null,
            "firstRecord": .time(firstRecord), "lastRecord": .time(lastRecord),
        ])
    }
}

extension BoardsCommand {
    struct Former: Verb {
        static let configuration = CommandConfiguration(
            commandName: "former",
            abstract: "List boards that you had, and whose data you kept.",
            discussion: """
                `postern export` reads their data, and `postern boards delete-data` deletes it. \
                A board that somebody else has now has no name here.
                """)

        @OptionGroup var place: Place

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let boards = try results(
                in: try await client.own(.get, "/former-boards"), FormerBoardRow.init(json:))
            if place.json { return surroundings.emit(.array(boards.map(\.json))) }
            guard !boards.isEmpty else { return surroundings.note("no former boards") }
            let times = surroundings.times
            var table = TextTable("NAME", "FIRST RECORD", "LAST RECORD", "BOARD")
            for row in boards {
                table.add(
                    row.name ?? "", times.show(row.firstRecord), times.show(row.lastRecord),
                    row.installation.description)
            }
            surroundings.show(table)
        }
    }

    struct DeleteData: Verb {
        static let configuration = CommandConfiguration(
            commandName: "delete-data",
            abstract: "Delete the data that you kept of a board that you had.")

        @OptionGroup var place: Place
        @Argument(help: ArgumentHelp(
            "The board's name, its id, or a unique beginning of its id, as `postern boards former` "
                + "shows them.", valueName: "board"))
        var board: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let found = if let id = InstallationID(board) {
                FoundBoard(id: id, name: nil)
            } else { try await client.formerBoard(named: board) }
            guard let found else {
                throw .usage("you kept no data of a board called \(Printable.line(board)); "
                    + "`postern boards former` shows the boards")
            }
            _ = try await client.own(.delete, "/former-boards/\(found.id)")
            surroundings.step(true, "deleted the data of \(found)")
            if place.json {
                surroundings.emit(.object(["installationId": .string(found.id.description)]))
            }
        }
    }
}

extension AuthorityClient {
    /// A board that the user had, by its name or a unique beginning of its id. Nil if there is
    /// none.
    func formerBoard(named text: String) async throws(CommandFailure) -> FoundBoard? {
        let boards = try results(
            in: try await own(.get, "/former-boards"), FormerBoardRow.init(json:))
        let search = NameSearch("boards", boards.map { board in
            let id = board.installation, name = board.name.map { Printable.line($0) }
            return .init(FoundBoard(id: id, name: name), ids: [id.description], name: name ?? "")
        })
        switch search.find(Printable.line(text)) {
        case .found(let board): return board
        case .nothing: return nil
        case .several(let words): throw .usage("\(words); give more of the id")
        }
    }
}
