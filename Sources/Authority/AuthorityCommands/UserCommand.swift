import ArgumentParser
import AuthorityCore
import Sessions
import Wire

/// Manages users with the words of `postern users`. It runs on the authority's machine, beside
/// `serve`, and needs no login.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Lists, shows, adds and changes users.",
        subcommands: [
            List.self, Show.self, Add.self, Allow.self, Deny.self, Password.self, Disable.self,
            Enable.self, MakeRecoveryCode.self,
        ])

    @ParentCommand var program: AuthorityProgram

    static let nameHelp = ArgumentHelp(
        "The user's name, object id, or a unique beginning of it.", valueName: "name")

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists users.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions

        func run() async throws {
            try await options.run(user.program) { local in
                let users = try await local.authority.everyUser()
                if options.json {
                    print(JSONValue.array(users.map(\.json)).text)
                } else {
                    for user in users { print(user.line) }
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Shows a user.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: UserCommand.nameHelp) var name: String

        func run() async throws {
            try await options.run(user.program) { local in
                let user = try await local.user(named: name)
                print(options.json ? user.json.text : user.line)
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Adds a user.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: "The user's name.") var name: String
        @Flag(help: "Make the user an administrator.") var admin = false
        @Flag(help: "Allow the user to claim boards.") var claim = false
        @OptionGroup var password: PasswordOptions

        func run() async throws {
            try await options.run(user.program) { local in
                let added = try await local.authority.addUser(
                    NewUser(
                        username: name, password: try password.read(), isAdministrator: admin,
                        mayClaim: claim),
                    actor: LocalAuthority.actor)
                options.tell(added, "added \(added.username) (\(added.objectID))")
            }
        }
    }

    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "password", abstract: "Sets a user's password.",
            discussion: """
                All sessions of that user end, also those on boards unless you give --keep-boards.
                """)

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: UserCommand.nameHelp) var name: String
        @OptionGroup var password: PasswordOptions
        @Flag(help: "Keep the sessions on boards.") var keepBoards = false

        func run() async throws {
            try await options.run(user.program) { local in
                let found = try await local.user(named: name)
                try await local.authority.setPassword(
                    try password.read(), of: found.username, actor: LocalAuthority.actor,
                    keepsBoards: keepBoards)
                let ended = keepBoards
                    ? "all logins have ended, sessions on boards stay"
                    : "all sessions have ended, also those on boards"
                options.tell(found, "set the password of \(found.username); \(ended)")
            }
        }
    }
}
