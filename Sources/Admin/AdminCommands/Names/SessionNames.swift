import Sessions
import Wire

extension AuthorityClient {
    /// The session that a person means by its object id, a unique beginning of it, or the board
    /// whose living session it is.
    func session(named text: String) async throws(CommandFailure) -> SessionRow {
        if let id = ObjectID(text), let row = try await session(id) { return row }
        let found = try await first(in: "/sessions", text) { (answer) throws(CommandFailure) in
            SessionRow.search(try results(in: answer, SessionRow.init(json:)))
        }
        guard let found else {
            let text = Printable.line(text)
            throw .usage("no session's id begins with \(text), and no board of that name or id has "
                + "a living session; `postern sessions` shows them")
        }
        return found
    }

    /// A name of ten letters and digits looks like a session's id, so ask.
    private func session(_ id: ObjectID) async throws(CommandFailure) -> SessionRow? {
        do throws(CommandFailure) {
            let answer = try await own(.get, "/sessions/\(id)")
            return try decoding { () throws(WireError) in try SessionRow(json: answer) }
        } catch {
            if case .refused(let refusal) = error, refusal.is(.notFound) { return nil }
            throw error
        }
    }
}

extension SessionRow {
    /// Whether the session is in use, or waits for its board.
    var isLiving: Bool { ["active", "pending"].contains(state) }

    /// The session in the sentence that says what was done: its id, its user, its board.
    var words: String {
        var words = "\(session.objectID) of \(Printable.line(username))"
        if let board = session.installationID {
            let name = boardName.map(Printable.line) ?? "a board"
            words += " on \(name) (\(board.description.prefix(8)))"
        }
        return words
    }

    static func search(_ rows: [SessionRow]) -> NameSearch<SessionRow> {
        NameSearch("sessions", rows.map { row in
            let id = row.session.objectID
            let board = row.isLiving ? row.session.installationID?.description : nil
            return .init(
                row, ids: [id.description] + [board].compactMap(\.self),
                name: row.isLiving ? row.boardName.map(Printable.line) : nil)
        })
    }
}
