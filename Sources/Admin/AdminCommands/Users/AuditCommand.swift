import ArgumentParser
import Sessions
import Wire

/// `postern audit`: shows the audit log, newest first. For administrators.
struct AuditCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Show the audit log, newest first.")

    @OptionGroup var place: Place
    @Option(help: "The number of entries, up to 1000.") var limit = 50
    @Option(help: ArgumentHelp("Only entries of this board.", valueName: "board"),
            completion: .boards)
    var board: String?

    func validate() throws {
        guard (1...1000).contains(limit) else { throw ValidationError("--limit is 1 to 1000") }
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        var path = "/audit?limit=\(limit)"
        if let board { path += "&board=\(try await client.board(named: board).id)" }
        let entries = try results(in: try await client.own(.get, path), AuditRow.init(json:))
        if place.json { return surroundings.emit(.array(entries.map(\.json))) }
        guard !entries.isEmpty else { return surroundings.note("no entries") }
        var table = TextTable("TIME", "EVENT", "ACTOR", "SESSION", "BOARD", "DETAIL")
        for entry in entries {
            table.add(
                surroundings.times.exact(entry.at), entry.event, entry.actor,
                entry.session?.description ?? "", entry.board?.description ?? "", entry.detail)
        }
        surroundings.show(table)
    }
}

private struct AuditRow: Sendable {
    let at: Timestamp
    let event: String
    let actor: String
    let board: InstallationID?
    let session: ObjectID?
    let detail: String

    init(json: JSONObject) throws(WireError) {
        at = try json.time("at")
        event = try json.string("event")
        actor = try json.string("actor")
        board = try json.optional("installationId") { $0.asString.flatMap(InstallationID.init) }
        session = try json.optional("sessionId") { $0.asString.flatMap(ObjectID.init) }
        detail = try json.string("detail")
    }

    var json: JSONValue {
        .object([
            "at": .time(at), "event": .string(event), "actor": .string(actor),
            "installationId": board.map { .string($0.description) } ?? .null,
            "sessionId": session.map { .string($0.description) } ?? .null,
            "detail": .string(detail),
        ])
    }
}
