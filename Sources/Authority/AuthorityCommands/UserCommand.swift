import ArgumentParser
import AuthorityCore
import AuthorityService
import LinuxIO
import Sessions
import Wire

/// Manages users. It runs on the authority's machine, beside `serve`.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Adds and lists users, and sets passwords.",
        subcommands: [Add.self, List.self, Passwd.self])

    @ParentCommand var program: AuthorityProgram

    struct Add: AsyncParsableCommand {
        @ParentCommand var user: UserCommand
        @OptionGroup var place: PlaceOptions
        @Argument var name: String
        @Flag(help: "The user may do everything.") var administrator = false
        @Flag(help: "The user may claim boards.") var mayClaim = false
        @Option(help: "A file with the password (default: ask).") var passwordFile: String?

        func run() async throws {
            let settings = try place.settings(user.program.place)
            try await AuthorityCommands.run {
                let password = try LocalPasswordSource(file: passwordFile).read(confirming: true)
                let local = try await LocalAuthority(settings)
                let added = try await local.authority.addUser(
                    NewUser(
                        username: name, password: password, isAdministrator: administrator,
                        mayClaim: mayClaim),
                    actor: "console")
                say("✓ \(added.username) (\(added.objectID))")
            }
        }
    }

    struct List: AsyncParsableCommand {
        @ParentCommand var user: UserCommand
        @OptionGroup var place: PlaceOptions
        @Flag(help: "As JSON.") var json = false

        func run() async throws {
            let settings = try place.settings(user.program.place)
            try await AuthorityCommands.run {
                let users = try await LocalAuthority(settings).authority.everyUser()
                if json {
                    print(JSONValue.object(["results": .array(users.map(\.listed))]).text)
                } else {
                    for user in users { print(user.line) }
                }
            }
        }
    }

    struct Passwd: AsyncParsableCommand {
        @ParentCommand var user: UserCommand
        @OptionGroup var place: PlaceOptions
        @Argument var name: String
        @Option(help: "A file with the password (default: ask).") var passwordFile: String?
        @Flag(help: "The user's boards keep their sessions.") var keepBoards = false

        func run() async throws {
            let settings = try place.settings(user.program.place)
            try await AuthorityCommands.run {
                let password = try LocalPasswordSource(file: passwordFile).read(confirming: true)
                let local = try await LocalAuthority(settings)
                try await local.authority.setPassword(
                    password, of: name, actor: "console", keepsBoards: keepBoards)
                let ended = keepBoards ? "logins have" : "logins and boards' sessions have"
                say("✓ the password of \(name) is set; its \(ended) ended")
            }
        }
    }
}

extension UserView {
    fileprivate var listed: JSONValue {
        .object([
            "objectId": .string(objectID.description), "username": .string(username),
            "administrator": .bool(isAdministrator), "mayClaim": .bool(mayClaim),
            "createdAt": .time(createdAt),
        ])
    }

    fileprivate var line: String {
        let rights = isAdministrator ? "administrator" : (mayClaim ? "may claim" : "")
        return "\(objectID)  \(username)  \(rights)"
    }
}

/// The source of a password: a file, the terminal or a pipe. Never the command line.
struct LocalPasswordSource {
    let file: String?

    /// Returns the first line. At a terminal it asks twice if `confirming`.
    func read(confirming: Bool) throws -> SecretBytes {
        if let file {
            // The file's owner decides who may read it. A file that others may change is refused.
            return secret(try PrivateFile.read(file, limit: 4096, strictestMode: 0o644))
        }
        guard Terminal.isTerminal(.input) else {
            return secret(try Terminal.readStandardInput(limit: 4096) ?? [])
        }
        let first = secret(try Terminal.readSecret(prompt: "Password: ") ?? [])
        guard confirming else { return first }
        let second = secret(try Terminal.readSecret(prompt: "Again: ") ?? [])
        guard first.matches(second) else {
            throw AuthorityError.refused(
                Refusal(.validation, "the two passwords are not the same; try again"))
        }
        return first
    }

    private func secret(_ bytes: [UInt8]) -> SecretBytes {
        SecretBytes(AuthorityServer.firstLine(bytes))
    }
}
