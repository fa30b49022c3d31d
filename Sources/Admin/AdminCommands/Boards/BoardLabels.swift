import ArgumentParser
import Sessions
import Wire

extension BoardsCommand {
    struct Label: Verb {
        static let configuration = CommandConfiguration(
            commandName: "label", abstract: "Set the labels by which boards are grouped.",
            discussion: """
                A label has 1 to 32 of [a-z0-9._-]. A board has at most 8. Labels that you name \
                replace those that the board had; --add and --remove change single ones, also for \
                all boards of a --label. `postern boards list --label LABEL` lists a group.
                """)

        @OptionGroup var place: Place
        @OptionGroup var group: BoardGroup
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String?
        @Argument(help: ArgumentHelp("The labels, such as barn north.", valueName: "label"))
        var labels: [String] = []
        @Option(help: ArgumentHelp("A label to add; may be repeated.", valueName: "label"))
        var add: [String] = []
        @Option(help: ArgumentHelp("A label to remove; may be repeated.", valueName: "label"))
        var remove: [String] = []
        @Flag(help: "Remove all labels.") var none = false

        func validate() throws {
            try group.check(board, "a board")
            let isChange = !(add + remove).isEmpty
            guard [!labels.isEmpty, isChange, none].filter(\.self).count == 1 else {
                throw ValidationError(
                    "name the labels, or --add and --remove, or --none to remove all")
            }
            for label in labels + add + remove { _ = try BoardsCommand.label(label) }
        }

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            if let label = group.label {
                let boards = try await client.group(label)
                return try await client.each(of: boards, asJSON: place.json, surroundings) {
                    (board) throws(CommandFailure) in
                    let row = try await change(board.installation, client)
                    return (row.labelWords, row.json)
                }
            }
            let board = try await client.board(named: board ?? "")
            let row = try await change(board.id, client)
            surroundings.step(true, "\(board) has \(row.labelWords)")
            if place.json { surroundings.emit(row.json) }
        }

        private func change(
            _ board: InstallationID, _ client: AuthorityClient
        ) async throws(CommandFailure) -> BoardRow {
            let list = { (labels: [String]) in
                JSONValue.array(labels.map { .string($0.lowercased()) })
            }
            let members = (add + remove).isEmpty ? ["labels": list(labels)]
                : ["addLabels": list(add), "removeLabels": list(remove)]
            let answer = try await client.own(.put, "/boards/\(board)", members)
            return try decoding { () throws(WireError) in try BoardRow(json: answer) }
        }
    }
}

extension BoardRow {
    fileprivate var labelWords: String {
        Printable.line(labels.isEmpty ? "no labels" : labels.joined(separator: ", "))
    }
}

extension BoardsCommand {
    /// A label as a person writes it, in any case.
    static func label(_ text: String) throws(ValidationError) -> BoardLabel {
        guard let label = BoardLabel(text.lowercased()) else {
            throw ValidationError(
                "'\(Printable.line(text))' is no label: use 1 to 32 of a-z, 0-9, '.', '_' and '-', "
                    + "and begin with a letter or a digit")
        }
        return label
    }
}

extension AuthorityClient {
    /// All boards, or those with the label and the part of a name, page by page.
    func boards(
        everyone: Bool, label: String?, search: String?
    ) async throws(CommandFailure) -> [BoardRow] {
        guard label != nil || search != nil else {
            return try results(
                in: try await own(.get, "/boards" + (everyone ? "?everyone=true" : "")),
                BoardRow.init(json:))
        }
        var query = "sort=name&limit=200&everyone=\(everyone)"
        if let label { query += "&label=\(PercentEncoding.encode(label.lowercased()))" }
        if let search { query += "&search=\(PercentEncoding.encode(search))" }
        var boards: [BoardRow] = []
        // A board that is renamed meanwhile may be on two pages.
        var seen: Set<InstallationID> = []
        var cursor: String?
        repeat {
            let answer = try await own(
                .get, "/boards?\(query)" + (cursor.map { "&cursor=\($0)" } ?? ""))
            let page = try results(in: answer, BoardRow.init(json:))
            guard answer.members["next"] != nil else {
                throw .failed(
                    layer: "authority",
                    text: "it is older and has no labels and no search; list all boards")
            }
            boards += page.filter { seen.insert($0.installation).inserted }
            let next = try decoding { () throws(WireError) in
                try answer.optional("next") { $0.asString }
            }
            guard !page.isEmpty, next != cursor else { break }
            cursor = next.map(PercentEncoding.encode)
        } while cursor != nil
        return boards
    }
}
