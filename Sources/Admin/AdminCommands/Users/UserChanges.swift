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
            let name = try await client.user(named: user).username
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
            try await UserUpdate(place: place, user: user).run(
                "enabled", false, in: surroundings) { "disabled \($0); every session has ended" }
        }
    }

    struct Enable: Verb {
        static let configuration = CommandConfiguration(
            commandName: "enable", abstract: "Allow a disabled user to log in again.")

        @OptionGroup var place: Place
        @Argument(help: UsersCommand.userHelp, completion: .users) var user: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            try await UserUpdate(place: place, user: user).run(
                "enabled", true, in: surroundings) { "enabled \($0)" }
        }
    }

    struct Allow: Verb {
        static let configuration = CommandConfiguration(
            commandName: "allow", abstract: "Allow a user to claim boards.")

        @OptionGroup var place: Place
        @Argument(help: UsersCommand.userHelp, completion: .users) var user: String
        @Argument(help: UserRight.help) var right: UserRight

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            try await UserUpdate(place: place, user: user).run(
                right.member, true, in: surroundings) { "\($0) may \(right.words)" }
        }
    }

    struct Deny: Verb {
        static let configuration = CommandConfiguration(
            commandName: "deny", abstract: "No longer allow a user to claim boards.",
            discussion: "The user's open claims end. The boards that they have claimed stay.")

        @OptionGroup var place: Place
        @Argument(help: UsersCommand.userHelp, completion: .users) var user: String
        @Argument(help: UserRight.help) var right: UserRight

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            try await UserUpdate(place: place, user: user).run(
                right.member, false, in: surroundings) { "\($0) may not \(right.words)" }
        }
    }
}

extension UserRight: ExpressibleByArgument {
    static let help = ArgumentHelp("The right.", valueName: "right")
}

/// Changes one member of a user.
private struct UserUpdate {
    let place: Place
    let user: String

    func run(
        _ member: String, _ value: Bool, in surroundings: CommandEnvironment,
        words: (_ name: String) -> String
    ) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        let name = try await client.user(named: user).username
        let answer = try await client.own(
            .put, "/users/\(PercentEncoding.encode(name))", [member: .bool(value)])
        let row = try decoding { () throws(WireError) in try UserRow(json: answer) }
        surroundings.step(true, words(Printable.line(row.username)))
        if place.json { surroundings.emit(.object(row.members)) }
    }
}
