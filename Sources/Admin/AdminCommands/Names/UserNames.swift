import Sessions
import Wire

extension AuthorityClient {
    /// The user that a person means by a name, an object id, or a unique beginning of it. For
    /// administrators.
    func user(named text: String) async throws(CommandFailure) -> UserRow {
        let users = try results(in: try await own(.get, "/users"), UserRow.init(json:))
        let search = NameSearch("users", users.map { user in
            .init(user, ids: [user.objectID.description], name: user.username)
        })
        switch search.find(text) {
        case .found(let user): return user
        case .nothing:
            throw .usage("no user is called \(Printable.line(text)), and no id of a user begins "
                + "with it; `postern users` shows both")
        case .several(let words): throw .usage(Printable.line("\(words); give more of the id"))
        }
    }

    /// The name of the user that a person means. Only administrators may list users, so for others
    /// the text is the name.
    func username(named text: String) async throws(CommandFailure) -> String {
        do throws(CommandFailure) {
            return try await user(named: text).username
        } catch {
            if case .refused(let refusal) = error, refusal.is(.forbidden) { return text }
            throw error
        }
    }
}
