import ArgumentParser
import Sessions
import Wire

extension UsersCommand {
    /// `postern users password`: sets another user's password.
    struct Password: Verb {
        static let configuration = CommandConfiguration(
            commandName: "password", abstract: "Set a user's password.",
            discussion: """
                All sessions of that user end, also those on boards unless you give \
                --keep-boards. Change your own password with `postern passwd`.
                """)

        @OptionGroup var place: Place
        @Argument(help: UsersCommand.userHelp, completion: .users) var user: String
        @OptionGroup var password: PasswordSource
        @Flag(help: "Keep the sessions on boards.") var keepBoards = false

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let name = try await client.username(named: user)
            let new = try password.readNew(
                prompt: "New password for \(Printable.line(name)): ", in: surroundings)
            try await client.setPassword(new, old: nil, of: name, keepsBoards: keepBoards)
            surroundings.tellPasswordSet(of: name, keepsBoards: keepBoards, json: place.json)
        }
    }

    struct Disable: Verb {
        static let configuration = CommandConfiguration(
            commandName: "disable",
            abstract: "Disable a user's login, and end all their sessions.")

        @OptionGroup var place: Place
        @Argument(help: UsersCommand.userHelp, completion: .users) var user: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let row = try await UserSwitch(place: place, user: user).set(false, in: surroundings)
            surroundings.step(
                true, "disabled \(Printable.line(row.username)); every session has ended")
            if place.json { surroundings.emit(.object(row.members)) }
        }
    }

    struct Enable: Verb {
        static let configuration = CommandConfiguration(
            commandName: "enable", abstract: "Allow a disabled user to log in again.")

        @OptionGroup var place: Place
        @Argument(help: UsersCommand.userHelp, completion: .users) var user: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let row = try await UserSwitch(place: place, user: user).set(true, in: surroundings)
            surroundings.step(true, "enabled \(Printable.line(row.username))")
            if place.json { surroundings.emit(.object(row.members)) }
        }
    }
}

/// Whether a user may log in.
private struct UserSwitch {
    let place: Place
    let user: String

    func set(
        _ isEnabled: Bool, in surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> UserRow {
        let client = try place.login(in: surroundings).client
        let name = try await client.username(named: user)
        let answer = try await client.own(
            .put, "/users/\(PercentEncoding.encode(name))", ["enabled": .bool(isEnabled)])
        return try decoding { () throws(WireError) in try UserRow(json: answer) }
    }
}
