import ArgumentParser
import AuthorityCore
import AuthorityService
import LinuxIO
import Sessions
import Wire

extension UserCommand {
    struct Allow: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "allow", abstract: "Allows a user to claim boards.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: UserCommand.nameHelp) var name: String
        @Argument(help: UserRight.help) var right: UserRight

        func run() async throws {
            try await options.change(name, right.change(to: true), user.program) {
                "\($0) may \(right.words)"
            }
        }
    }

    struct Deny: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "deny", abstract: "No longer allows a user to claim boards.",
            discussion: "The user's open claims end. The boards that they have claimed stay.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: UserCommand.nameHelp) var name: String
        @Argument(help: UserRight.help) var right: UserRight

        func run() async throws {
            try await options.change(name, right.change(to: false), user.program) {
                "\($0) may not \(right.words)"
            }
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disable",
            abstract: "Disables a user's login, and ends all their sessions.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: UserCommand.nameHelp) var name: String

        func run() async throws {
            try await options.change(name, UserChange(isEnabled: false), user.program) {
                "disabled \($0); every session has ended"
            }
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "enable", abstract: "Allows a disabled user to log in again.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: UserCommand.nameHelp) var name: String

        func run() async throws {
            try await options.change(name, UserChange(isEnabled: true), user.program) {
                "enabled \($0)"
            }
        }
    }
}

extension UserCommand {
    struct MakeRecoveryCode: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "recovery-code",
            abstract: "Prints a code with which a user can log in once, at the page.",
            discussion: "An earlier code of that user serves no more.")

        @ParentCommand var user: UserCommand
        @OptionGroup var options: UserOptions
        @Argument(help: UserCommand.nameHelp) var name: String

        func run() async throws {
            try await options.run(user.program) { local in
                let found = try await local.user(named: name)
                let code = try await local.authority.makeRecoveryCode(
                    of: found.username, actor: LocalAuthority.actor)
                let text = String(decoding: code.secret.reveal(), as: UTF8.self)
                print(options.json ? JSONValue.object(["code": .string(text)]).text : text)
            }
        }
    }
}

extension UserRight: ExpressibleByArgument {
    static let help = ArgumentHelp("The right.", valueName: "right")

    fileprivate func change(to value: Bool) -> UserChange {
        switch self {
        case .claim: UserChange(mayClaim: value)
        }
    }
}

/// Options of each command on users.
struct UserOptions: ParsableArguments {
    @OptionGroup var place: PlaceOptions
    @Flag(help: "Results as JSON.") var json = false

    func run(
        _ program: AuthorityProgram, _ body: (LocalAuthority) async throws -> Void
    ) async throws {
        let settings = try place.settings(program.place)
        try await AuthorityCommands.run { try await body(try await LocalAuthority(settings)) }
    }

    func change(
        _ name: String, _ change: UserChange, _ program: AuthorityProgram,
        words: (_ name: String) -> String
    ) async throws {
        try await run(program) { local in
            let found = try await local.user(named: name)
            let changed = try await local.authority.change(
                found.username, change, actor: LocalAuthority.actor)
            tell(changed, words(changed.username))
        }
    }

    /// Prints what was done, and with `--json` the user.
    func tell(_ user: UserView, _ done: String) {
        say("✓ \(done)")
        if json { print(user.json.text) }
    }
}

extension LocalAuthority {
    /// The name of the local operator in the audit log.
    static let actor = "console"

    func user(named text: String) async throws -> UserView {
        let search = NameSearch("users", try await authority.everyUser().map { user in
            .init(user, ids: [user.objectID.description], name: user.username)
        })
        switch search.find(text) {
        case .found(let user): return user
        case .nothing:
            throw AuthorityError.refused(Refusal(
                .notFound, "no user has this name, and no id of a user begins with it"))
        case .several(let words):
            throw AuthorityError.refused(Refusal(.validation, "\(words); give more of the id"))
        }
    }
}

extension UserView {
    /// The form in which `postern users` prints a user.
    var json: JSONValue {
        .object([
            "objectId": .string(objectID.description), "username": .string(username),
            "isAdministrator": .bool(isAdministrator), "mayClaim": .bool(mayClaim),
            "createdAt": .time(createdAt), "enabled": .bool(isEnabled),
        ])
    }

    /// The name comes last, because it can look like anything.
    var line: String {
        let rights = [isAdministrator ? "administrator" : "user", mayClaim ? "may claim" : nil]
            .compactMap(\.self).joined(separator: ", ")
        return [objectID.description, isEnabled ? "enabled" : "disabled", rights, username]
            .joined(separator: "  ")
    }
}

/// The source of a new password. Never the command line.
struct PasswordOptions: ParsableArguments {
    @Option(help: "A file with the password (default: ask).") var passwordFile: String?

    func read() throws -> SecretBytes {
        try LocalPasswordSource(file: passwordFile).read(confirming: true)
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
                Refusal(.validation, "the two passwords differ; run the command again"))
        }
        return first
    }

    private func secret(_ bytes: [UInt8]) -> SecretBytes {
        SecretBytes(AuthorityServer.firstLine(bytes))
    }
}
