import Sessions
import Wire

/// A board that a person named, for the sentence that says what was done.
struct FoundBoard: CustomStringConvertible {
    let id: InstallationID
    /// Nil if the person gave the whole id.
    let name: String?

    var description: String { name.map { "\($0) (\(id))" } ?? id.description }
}

extension AuthorityClient {
    /// The board that a person means by its name, its id, or a unique beginning of its id. A name
    /// in the user's own list counts first. An administrator then finds everyone's.
    ///
    /// A whole id is not looked up, because it may be the id of a board that was released.
    /// `orFormer`: if no board is found, it may be one that the user had.
    func board(
        named text: String, orFormer: Bool = false
    ) async throws(CommandFailure) -> FoundBoard {
        if let id = InstallationID(text) { return FoundBoard(id: id, name: nil) }
        if let found = try await present(text) { return found }
        if orFormer, let found = try await formerBoard(named: text) { return found }
        throw .usage("no board is called \(Printable.line(text)), and no id of a board begins "
            + "with it; `postern boards` shows both")
    }

    private func present(_ text: String) async throws(CommandFailure) -> FoundBoard? {
        try await first(in: "/boards", text) { (answer) throws(CommandFailure) in
            let boards = try results(in: answer, BoardRow.init(json:))
            return NameSearch("boards", boards.map { board in
                let (id, name) = (board.installation, Printable.line(board.name))
                return .init(
                    FoundBoard(id: id, name: name), ids: [id.description], name: name)
            })
        }
    }

    /// Searches the user's own list, then everyone's. Nil if neither has it. The beginning of an
    /// id is searched in everyone's if the user may read that: another's board may have it as name.
    func first<Value>(
        in path: String, _ text: String,
        _ read: (JSONObject) throws(CommandFailure) -> NameSearch<Value>
    ) async throws(CommandFailure) -> Value? {
        let text = Printable.line(text)
        guard let own = try await permitted(path) else { return nil }
        var search = try read(own)
        if !search.has(text), let everyone = try await permitted(path + "?everyone=true") {
            search = try read(everyone)
        }
        switch search.find(text) {
        case .found(let value): return value
        case .nothing: return nil
        case .several(let words): throw .usage("\(words); give more of the id")
        }
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
