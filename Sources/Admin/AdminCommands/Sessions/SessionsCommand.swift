import ArgumentParser
import Sessions
import Wire

/// `postern sessions`: the user's own sessions on all devices.
struct SessionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List sessions; show, rename, change or end one.",
        subcommands: [
            List.self, Show.self, Rename.self, Extend.self, ChangeScope.self, Revoke.self,
        ],
        defaultSubcommand: List.self)

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List your sessions.")

        @OptionGroup var place: Place
        @Flag(help: "Everyone's sessions; for administrators.") var everyone = false

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let path = "/sessions" + (everyone ? "?everyone=true" : "")
            let sessions = try results(
                in: try await client.own(.get, path), SessionRow.init(json:))
            if place.json { return surroundings.emit(.array(sessions.map(\.json))) }
            guard !sessions.isEmpty else { return surroundings.note("no sessions") }
            let times = surroundings.times
            var table = TextTable(
                "SESSION", "STATE", "USER", "BOARD", "NAME", "KIND", "GENERATION", "CREATED",
                "EXPIRES", "LAST SEEN")
            for row in sessions {
                table.add(
                    row.session.objectID.description, row.stateWords, row.username,
                    row.boardName ?? "", row.name ?? "",
                    row.session.restricted ? "restricted" : "full",
                    row.generation.map(String.init) ?? "", times.show(row.session.createdAt),
                    times.show(row.session.expiresAt), times.show(row.lastSeen))
            }
            surroundings.show(table)
        }
    }

    struct Show: Verb {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show everything about a session except its tokens.")

        @OptionGroup var place: Place
        @Argument(help: SessionsCommand.sessionHelp, completion: .sessions) var id: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let session = try await client.session(named: id)
            let answer = try await client.own(.get, "/sessions/\(session.session.objectID)")
            let row = try decoding { () throws(WireError) in try SessionRow(json: answer) }
            if place.json { return surroundings.emit(row.json) }
            let times = surroundings.times
            var table = TextTable("SESSION", row.session.objectID.description)
            table.add("state", row.state)
            table.add("user", "\(row.username) (\(row.session.user))")
            table.add("kind", row.session.restricted ? "restricted" : "full")
            let origin = row.session.createdWith
            table.add("made by", "\(origin.action), \(origin.authProvider)")
            table.add("board", row.boardName ?? "")
            table.add("installation", row.session.installationID?.description ?? "")
            table.add("generation", row.generation.map(String.init) ?? "")
            table.add("created", times.show(row.session.createdAt))
            table.add("expires", times.show(row.session.expiresAt))
            table.add("last seen", times.show(row.lastSeen))
            table.add("scope", row.scopeWords)
            for (name, value) in row.session.custom.sorted(by: { $0.key < $1.key }) {
                table.add(name, value.asString ?? value.text)
            }
            surroundings.show(table)
        }
    }

    static let sessionHelp = ArgumentHelp(
        "The session's id or a unique beginning of it; or its board's name or id.",
        valueName: "session")
}
