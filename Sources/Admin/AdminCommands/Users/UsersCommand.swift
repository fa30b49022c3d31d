import ArgumentParser
import Sessions
import Wire

/// `postern users`: manages users. For administrators.
struct UsersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "List, show, add and change users; for administrators.",
        subcommands: [
            List.self, Show.self, Add.self, Allow.self, Deny.self, Password.self, Disable.self,
            Enable.self,
        ], defaultSubcommand: List.self)

    static let userHelp = ArgumentHelp(
        "The user's name, object id, or a unique beginning of it.", valueName: "name")

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List users.")

        @OptionGroup var place: Place

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let users = try results(
                in: try await client.own(.get, "/users"), UserRow.init(json:))
            if place.json { return surroundings.emit(.array(users.map { .object($0.members) })) }
            var table = TextTable("NAME", "STATE", "ID", "RIGHTS", "CREATED")
            for user in users {
                table.add(
                    user.username, user.isEnabled ? "enabled" : "disabled",
                    user.objectID.description, user.rights,
                    surroundings.times.show(user.createdAt))
            }
            surroundings.show(table)
        }
    }

    struct Show: Verb {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a user.")

        @OptionGroup var place: Place
        @Argument(help: UsersCommand.userHelp, completion: .users) var user: String

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let user = try await client.user(named: user)
            if place.json { return surroundings.emit(.object(user.members)) }
            var table = TextTable("NAME", user.username)
            table.add("state", user.isEnabled ? "enabled" : "disabled")
            table.add("id", user.objectID.description)
            table.add("rights", user.rights)
            table.add("created", surroundings.times.show(user.createdAt))
            surroundings.show(table)
        }
    }

    struct Add: Verb {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a user.")

        @OptionGroup var place: Place
        @Argument(help: "The user's name.") var name: String
        @Flag(help: "Make the user an administrator.") var admin = false
        @Flag(help: "Allow the user to claim boards.") var claim = false
        @OptionGroup var password: PasswordSource

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let secret = try password.readNew(
                prompt: "Password for \(Printable.line(name)): ", in: surroundings)
            let answer = try await client.own(.post, "/users", [
                "username": .string(name),
                "password": .string(secret.text),
                "isAdministrator": .bool(admin), "mayClaim": .bool(claim),
            ])
            let user = try decoding { () throws(WireError) in try UserRow(json: answer) }
            surroundings.step(true, "added \(Printable.line(user.username)) (\(user.objectID))")
            if place.json { surroundings.emit(.object(user.members)) }
        }
    }
}
