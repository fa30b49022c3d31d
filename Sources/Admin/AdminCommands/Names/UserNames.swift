import Sessions
import Wire

extension AuthorityClient {
    /// The name of the user that a person means by a name, an object id, or a unique beginning of
    /// it. Only administrators may list users, so for others the text is the name.
    func username(named text: String) async throws(CommandFailure) -> String {
        guard let answer = try await permitted("/users") else { return text }
        let users = try results(in: answer, UserRow.init(json:))
        let search = NameSearch("users", users.map { user in
            .init(user.username, ids: [user.objectID.description], name: user.username)
        })
        switch search.find(text) {
        case .found(let name): return name
        case .nothing:
            throw .usage("no user is called \(Printable.line(text)), and no id of a user begins "
                + "with it; `postern users` shows both")
        case .several(let words): throw .usage(Printable.line("\(words); give more of the id"))
        }
    }
}
