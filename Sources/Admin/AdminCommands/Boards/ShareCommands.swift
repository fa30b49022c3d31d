import ArgumentParser
import Sessions
import Wire

extension BoardsCommand {
    struct Share: Verb {
        enum Right: String, ExpressibleByArgument, CaseIterable { case see, manage }

        static let configuration = CommandConfiguration(
            commandName: "share",
            abstract: "Make a link with which one other user may see or manage a board.",
            discussion: """
                The link serves once, within 7 days. `see` shows the state and the readings. \
                `manage` may also rename the board, and extend, limit and end its session. Who \
                opens the link first has the board, so send it where only that person reads it.
                """)

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String
        @Argument(help: ArgumentHelp("see or manage.", valueName: "right")) var right: Right
        @Option(help: ArgumentHelp(
            "Only the readings of these classes, with commas between.", valueName: "classes"))
        var classes: String?
        @Option(help: ArgumentHelp(
            "When the share ends: a span such as 30d, or a time such as \"2026-12-31 18:00\".",
            valueName: "time"))
        var until: ConsumerEnd?

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let board = try await client.board(named: board)
            var order: [String: JSONValue] = ["right": .string(right.rawValue)]
            order["classes"] = classes.map { text in
                .array(text.split(separator: ",").map { .string($0.filter { $0 != " " }) })
            }
            if let end = try until?.member(in: surroundings.zone) { order[end.name] = end.value }
            let answer = try await client.own(.post, "/boards/\(board.id)/invitations", order)
            let (url, ends) = try decoding { () throws(WireError) in
                (try answer.string("url"), try answer.time("expiresAt"))
            }
            surroundings.step(
                true, "invited one user to \(right.rawValue) \(board); the link is shown only "
                    + "now, and serves until \(surroundings.times.show(ends))")
            if place.json { return surroundings.emit(.object(answer.members)) }
            surroundings.out(Printable.line(url))
        }
    }

    struct Shares: Verb {
        static let configuration = CommandConfiguration(
            commandName: "shares", abstract: "List the people who may see or manage your board.")

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let board = try await client.board(named: board)
            let answer = try await client.own(.get, "/boards/\(board.id)/shares")
            if place.json { return surroundings.emit(.object(answer.members)) }
            let rows = try ShareRow.rows(in: answer)
            guard !rows.isEmpty else { return surroundings.note("\(board) is not shared") }
            let times = surroundings.times
            var table = TextTable("WHO", "RIGHT", "CLASSES", "ENDS", "SINCE", "ID")
            for row in rows {
                table.add(
                    row.user ?? "nobody yet", row.right, row.classes?.joined(separator: ", ")
                        ?? "all", times.show(row.until), times.show(row.createdAt),
                    row.id.description)
            }
            surroundings.show(table)
        }
    }

    struct Unshare: Verb {
        static let configuration = CommandConfiguration(
            commandName: "unshare",
            abstract: "End a share or an invitation, or leave a board that is shared with you.")

        @OptionGroup var place: Place
        @Argument(help: BoardsCommand.boardHelp, completion: .boards) var board: String
        @Argument(help: ArgumentHelp(
            "The user, or the id that `postern boards shares` shows. Without it, you leave the "
                + "board.", valueName: "user"), completion: .users)
        var user: String?

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let board = try await client.board(named: board)
            guard let user else { return try await leave(board, client, surroundings) }
            let rows = try ShareRow.rows(
                in: try await client.own(.get, "/boards/\(board.id)/shares"))
            guard let row = rows.first(where: { $0.id.description == user })
                ?? rows.first(where: { $0.user == user })
            else {
                throw .usage("\(board) is not shared with \(Printable.line(user)); "
                    + "`postern boards shares` lists the people")
            }
            let kind = row.user == nil ? "invitations" : "shares"
            _ = try await client.own(.delete, "/boards/\(board.id)/\(kind)/\(row.id)")
            report(
                row.user.map { "\(Printable.line($0)) sees \(board) no more" }
                    ?? "the invitation to \(board) serves no more", row.id, surroundings)
        }

        private func leave(
            _ board: FoundBoard, _ client: AuthorityClient, _ surroundings: CommandEnvironment
        ) async throws(CommandFailure) {
            let answer = try await client.own(.get, "/boards/\(board.id)")
            let own = answer.members["shared"]?.asObject?["id"]?.asString
            guard let id = own.flatMap(ObjectID.init) else {
                throw .usage("\(board) is not shared with you; name the user whose share "
                    + "shall end")
            }
            _ = try await client.own(.delete, "/boards/\(board.id)/shares/\(id)")
            report("left \(board)", id, surroundings)
        }

        private func report(
            _ words: String, _ id: ObjectID, _ surroundings: CommandEnvironment
        ) {
            surroundings.step(true, words)
            if place.json { surroundings.emit(.object(["id": .string(id.description)])) }
        }
    }

    struct Accept: Verb {
        static let configuration = CommandConfiguration(
            commandName: "accept", abstract: "Accept a link to a board of another user.",
            discussion: "The link is a secret, so it is never an argument.")

        @OptionGroup var place: Place
        @Option(help: ArgumentHelp(
            "The file with the link; - for standard input. Without it, the command asks.",
            valueName: "file"))
        var linkFile: String?

        private static let mark = "/#/invitation/"

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let link = try SecretText.read(
                linkFile, "link", prompt: "Link: ", in: surroundings).text
            guard let mark = link.firstRange(of: Self.mark), mark.upperBound < link.endIndex else {
                throw .usage("that is no link to a board: it has \(Self.mark) and a secret in it")
            }
            let base = String(link[..<mark.lowerBound])
            let info = try await client.own(.get, "/info")
            let own = try decoding { () throws(WireError) in try info.string("publicUrl") }
            guard base == own else {
                throw .usage("this link is for \(Printable.line(base)), and your login is at "
                    + Printable.line(own))
            }
            let answer = try await client.own(
                .post, "/invitations/accept",
                ["secret": .string(String(link[mark.upperBound...]))])
            let name = try decoding { () throws(WireError) in try answer.string("name") }
            surroundings.step(true, "you have the board \(Printable.line(name)) now")
            if place.json { surroundings.emit(.object(answer.members)) }
        }
    }
}

/// A share, or an open invitation.
struct ShareRow: Sendable {
    let id: ObjectID
    /// Nil: nobody has accepted it yet.
    let user: String?
    let right: String
    /// Nil: all.
    let classes: [String]?
    let until: Timestamp?
    let createdAt: Timestamp

    init(json: JSONObject) throws(WireError) {
        id = try json.parsed("id", ObjectID.init)
        user = try json.optional("user") { $0.asString }
        right = try json.string("right")
        classes = try json.optional("classes") { $0.asArray }?.compactMap(\.asString)
        until = try json.optional("until") { $0.asInteger.flatMap(Timestamp.init(seconds:)) }
        createdAt = try json.time("createdAt")
    }

    static func rows(in answer: JSONObject) throws(CommandFailure) -> [Self] {
        try decoding { () throws(WireError) in
            var rows: [Self] = []
            for list in ["shares", "invitations"] {
                for value in try answer.required(list, { $0.asArray }) {
                    rows.append(try Self(json: JSONObject(value.asObject ?? [:])))
                }
            }
            return rows
        }
    }
}
