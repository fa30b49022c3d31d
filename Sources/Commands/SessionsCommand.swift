import ArgumentParser
import Sessions
import Wire

/// `postern sessions`: one's own on all devices.
struct SessionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List sessions, look at one, or end it.",
        subcommands: [List.self, Show.self, Revoke.self], defaultSubcommand: List.self)

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List your sessions.")

        @OptionGroup var place: Place
        @Flag(help: "Everyone's sessions; for administrators.") var everyone = false

        func perform(in surroundings: Surroundings) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let path = "/sessions" + (everyone ? "?everyone=true" : "")
            let sessions = try results(
                in: try await client.parse(.get, path), SessionRow.init(json:))
            if place.json { return surroundings.emit(.array(sessions.map(\.json))) }
            guard !sessions.isEmpty else { return surroundings.note("no sessions") }
            let times = surroundings.times
            var table = Table(
                "SESSION", "STATE", "USER", "BOARD", "KIND", "CREATED", "EXPIRES", "LAST SEEN")
            for row in sessions {
                table.add(
                    row.session.objectID.description, row.state, row.username,
                    row.boardName ?? "", row.session.restricted ? "restricted" : "full",
                    times.show(row.session.createdAt), times.show(row.session.expiresAt),
                    times.show(row.lastSeen))
            }
            surroundings.show(table)
        }
    }

    struct Show: Verb {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show all about one session but its tokens.")

        @OptionGroup var place: Place
        @Argument(help: ArgumentHelp("The session's objectId.", valueName: "session"))
        var id: String

        func perform(in surroundings: Surroundings) async throws(CommandFailure) {
            let session = try sessionID(id)
            let client = try place.login(in: surroundings).client
            let answer = try await client.parse(.get, "/sessions/\(session)")
            let row = try decoding { () throws(WireError) in try SessionRow(json: answer) }
            if place.json { return surroundings.emit(row.json) }
            let times = surroundings.times
            var table = Table("SESSION", row.session.objectID.description)
            table.add("state", row.state)
            table.add("user", "\(row.username) (\(row.session.user))")
            table.add("kind", row.session.restricted ? "restricted" : "full")
            let origin = row.session.createdWith
            table.add("made by", "\(origin.action), \(origin.authProvider)")
            table.add("board", row.boardName ?? "")
            table.add("installation", row.session.installationID?.description ?? "")
            table.add("created", times.show(row.session.createdAt))
            table.add("expires", times.show(row.session.expiresAt))
            table.add("last seen", times.show(row.lastSeen))
            surroundings.show(table)
        }
    }

    struct Revoke: Verb {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "End a session wherever it lives.")

        @OptionGroup var place: Place
        @Argument(help: ArgumentHelp("The session's objectId.", valueName: "session"))
        var id: String

        func perform(in surroundings: Surroundings) async throws(CommandFailure) {
            let session = try sessionID(id)
            let client = try place.login(in: surroundings).client
            _ = try await client.parse(.delete, "/sessions/\(session)")
            surroundings.step(true, "revoked \(session)")
            if place.json {
                surroundings.emit(.object([
                    "objectId": .string(session.description), "state": .string("revoked"),
                ]))
            }
        }
    }
}

private func sessionID(_ text: String) throws(CommandFailure) -> ObjectID {
    guard let id = ObjectID(text) else {
        throw .usage("a session's id is 10 letters and digits, as `postern sessions` shows it")
    }
    return id
}
