import Sessions
import Wire

extension AuthorityClient {
    /// The board that a person means by its name, its id, or a unique beginning of its id. The
    /// user's own boards count first. An administrator then finds everyone's.
    ///
    /// A whole id is not looked up, because it may be the id of a board that was released.
    func installation(named text: String) async throws(CommandFailure) -> InstallationID {
        if let id = InstallationID(text) { return id }
        let found = try await first(in: "/boards", text) { (answer) throws(CommandFailure) in
            let boards = try results(in: answer, BoardRow.init(json:))
            return NameSearch("boards", boards.map { board in
                .init(
                    board.installation, ids: [board.installation.description],
                    name: Printable.line(board.name))
            })
        }
        guard let found else {
            throw .usage("no board is called \(Printable.line(text)), and no id of a board begins "
                + "with it; `postern boards` shows both")
        }
        return found
    }

    /// Searches the user's own list, then everyone's. Nil if neither has it.
    func first<Value>(
        in path: String, _ text: String,
        _ read: (JSONObject) throws(CommandFailure) -> NameSearch<Value>
    ) async throws(CommandFailure) -> Value? {
        for everyone in ["", "?everyone=true"] {
            guard let answer = try await permitted(path + everyone) else { return nil }
            switch try read(answer).find(Printable.line(text)) {
            case .found(let value): return value
            case .nothing: continue
            case .several(let words):
                throw .usage("\(words); give more of the id")
            }
        }
        return nil
    }

    /// Nil if the user may not read this.
    func permitted(_ path: String) async throws(CommandFailure) -> JSONObject? {
        do throws(CommandFailure) {
            return try await own(.get, path)
        } catch {
            if case .refused(let refusal) = error, refusal.is(.forbidden) {
                return nil
            }
            throw error
        }
    }
}
