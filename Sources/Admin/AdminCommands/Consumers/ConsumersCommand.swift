import ArgumentParser
import Sessions
import Wire

/// `postern consumers`: broker logins for other programs.
struct ConsumersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consumers",
        abstract: "Give another program a login to read the data of your boards.",
        subcommands: [List.self, Add.self, Remove.self], defaultSubcommand: List.self)

    struct Add: Verb {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Make a broker login for another program, and show it once.",
            discussion: """
                The login reads the data and the status of the boards that you name, and nothing \
                else. It publishes nothing. Without --boards it reads all your boards, also those \
                that you claim later. A board that you release is no longer read at once.
                """)

        @OptionGroup var place: Place
        @Argument(help: ArgumentHelp(
            "A name of your choice: 1 to 64 of [A-Za-z0-9._-].", valueName: "name"))
        var name: String
        @Option(
            help: ArgumentHelp(
                "Only these boards: names, ids or their beginnings, with commas between.",
                valueName: "boards"),
            completion: .boards)
        var boards: String?
        @Option(help: ArgumentHelp(
            "Only these classes, with commas between.", valueName: "classes"))
        var classes: String?
        @Option(help: ArgumentHelp(
            "When it ends: a span such as 30d, or a time such as \"2026-12-31 18:00\".",
            valueName: "time"))
        var until: ConsumerEnd?

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let own = try results(in: try await client.own(.get, "/boards"), BoardRow.init(json:))
                .filter { $0.sharedRight == nil }
            var order: [String: JSONValue] = ["name": .string(name)]
            let named = try words(boards, "--boards").map { words throws(CommandFailure) in
                try Self.find(words, in: own)
            }
            order["boards"] = named.map { .array($0.map { .string($0.description) }) }
            order["classes"] = try words(classes, "--classes").map {
                .array($0.map(JSONValue.string))
            }
            if let end = try until?.member(in: surroundings.zone) { order[end.name] = end.value }
            let answer = try await client.own(.post, "/consumers", order)
            let made = try decoding { () throws(WireError) in try MadeConsumer(json: answer) }
            surroundings.step(
                true, "made the consumer \(made.name); its password is shown only now")
            if place.json { return surroundings.emit(made.json) }
            let lines = ConsumerLines(
                made, board: (named?.first ?? own.first?.installation)?.description,
                className: try words(classes, "--classes")?.first)
            for line in lines.all(surroundings.times) { surroundings.out(line) }
        }

        private func words(
            _ text: String?, _ option: String
        ) throws(CommandFailure) -> [String]? {
            guard let text else { return nil }
            let words = text.split(separator: ",").map { $0.trimmingSpaces }
                .filter { !$0.isEmpty }
            guard !words.isEmpty else {
                throw .usage("\(option) names nothing; leave it out to read all")
            }
            return words
        }

        private static func find(
            _ names: [String], in own: [BoardRow]
        ) throws(CommandFailure) -> [InstallationID] {
            let search = NameSearch("boards", own.map { board in
                .init(
                    board.installation, ids: [board.installation.description],
                    name: Printable.line(board.name))
            })
            return try names.map { name throws(CommandFailure) in
                let name = Printable.line(name)
                switch search.find(name) {
                case .found(let board): return board
                case .several(let words): throw .usage("\(words); give more of the id")
                case .nothing:
                    throw .usage("you have no board named \(name), and no id of a board of yours "
                        + "begins with it; `postern boards` shows both")
                }
            }
        }
    }

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List your consumers.")

        @OptionGroup var place: Place

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let consumers = try results(
                in: try await client.own(.get, "/consumers"), ConsumerRow.init(json:))
            if place.json { return surroundings.emit(.array(consumers.map(\.json))) }
            guard !consumers.isEmpty else { return surroundings.note("no consumers") }
            let boards = try results(
                in: try await client.own(.get, "/boards"), BoardRow.init(json:))
            let names = Dictionary(boards.map { ($0.installation, $0.name) }) { first, _ in first }
            let times = surroundings.times
            var table = TextTable(
                "NAME", "CONNECTED", "BOARDS", "CLASSES", "ENDS", "MADE", "CLIENT ID")
            for row in consumers {
                table.add(
                    row.name, row.isConnected.map { $0 ? "yes" : "no" } ?? "unknown",
                    Self.words(row, names), row.classes?.joined(separator: ", ") ?? "all",
                    times.show(row.until), times.show(row.createdAt), row.clientID)
            }
            surroundings.show(table)
        }

        /// A board that is no longer the user's is left out: the consumer cannot read it.
        private static func words(
            _ row: ConsumerRow, _ names: [InstallationID: String]
        ) -> String {
            guard let boards = row.boards else {
                return row.boardsLeftOut == 0 ? "all" : "all but \(row.boardsLeftOut)"
            }
            let present = boards.compactMap { names[$0] }
            return present.isEmpty ? "none" : present.joined(separator: ", ")
        }
    }

    struct Remove: Verb {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a consumer, and cut its connection.")

        @OptionGroup var place: Place
        @Argument(help: ArgumentHelp("The consumer's name.", valueName: "name"),
                  completion: .consumers)
        var name: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let told = BrokerDelivery(
                try await client.own(.delete, "/consumers/\(PercentEncoding.encode(name))"))
            told.report(
                "removed the consumer \(Printable.line(name))", "name", name,
                asJSON: place.json, in: surroundings)
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        var rest = self
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
