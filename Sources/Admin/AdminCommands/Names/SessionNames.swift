import Sessions
import Wire

extension AuthorityClient {
    /// The session that a person means by its object id, a unique beginning of it, or the board
    /// whose living session it is.
    func session(named text: String) async throws(CommandFailure) -> ObjectID {
        if let id = ObjectID(text), try await exists(id) { return id }
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
    private func exists(_ id: ObjectID) async throws(CommandFailure) -> Bool {
        do throws(CommandFailure) {
            _ = try await own(.get, "/sessions/\(id)")
            return true
        } catch {
            if case .refused(let refusal) = error, refusal.is(.notFound) {
                return false
            }
            throw error
        }
    }
}

extension SessionRow {
    /// Whether the session is in use, or waits for its board.
    var isLiving: Bool { ["active", "pending"].contains(state) }

    static func search(_ rows: [SessionRow]) -> NameSearch<ObjectID> {
        NameSearch("sessions", rows.map { row in
            let id = row.session.objectID
            let board = row.isLiving ? row.session.installationID?.description : nil
            return .init(
                id, ids: [id.description] + [board].compactMap(\.self),
                name: row.isLiving ? row.boardName.map(Printable.line) : nil)
        })
    }
}
