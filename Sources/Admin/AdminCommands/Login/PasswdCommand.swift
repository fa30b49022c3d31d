import ArgumentParser
import Sessions
import Wire

/// `postern passwd`: changes the user's own password.
struct PasswdCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "passwd", abstract: "Change your password.",
        discussion: """
            All your other sessions end, also those on boards unless you give --keep-boards. \
            The login of this command stays.
            """)

    @OptionGroup var place: Place
    @OptionGroup var password: PasswordSource
    @OptionGroup var old: OldPasswordSource
    @Flag(help: "Keep the sessions on boards.") var keepBoards = false

    func validate() throws {
        guard password.passwordFile != "-" || old.oldPasswordFile != "-" else {
            throw ValidationError("only one password can come from standard input")
        }
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let (profile, client) = try place.login(in: surroundings)
        let present = try old.read(prompt: "Your password: ", in: surroundings)
        let new = try password.readNew(prompt: "The new password: ", in: surroundings)
        try await client.setPassword(
            new, old: present, of: profile.username, keepsBoards: keepBoards)
        surroundings.tellPasswordSet(
            of: profile.username, keepsBoards: keepBoards, json: place.json)
    }
}

extension AuthorityClient {
    /// `old` is the user's own password. It is nil if an administrator sets another user's
    /// password.
    func setPassword(
        _ password: SecretBytes, old: SecretBytes?, of username: String, keepsBoards: Bool
    ) async throws(CommandFailure) {
        var change: [String: JSONValue] = [
            "password": .string(password.text), "keepBoards": .bool(keepsBoards),
        ]
        if let old { change["oldPassword"] = .string(old.text) }
        _ = try await own(.put, "/users/\(PercentEncoding.encode(username))/password", change)
    }
}

extension CommandEnvironment {
    func tellPasswordSet(of username: String, keepsBoards: Bool, json: Bool) {
        let boards = keepsBoards ? "those on boards stay" : "those on boards too"
        step(true, "set the password of \(Printable.line(username)); "
            + "other sessions have ended, \(boards)")
        if json {
            emit(.object([
                "username": .string(username), "keepBoards": .bool(keepsBoards),
            ]))
        }
    }
}
