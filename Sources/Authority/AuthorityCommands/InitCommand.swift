import ArgumentParser
import AuthorityBroker
import AuthorityCore
import AuthorityService
import ConfigurationFiles
import Foundation
import LinuxIO
import Sessions
import Wire

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Makes the keys, the database and the first administrator.",
        discussion: """
            With --tls it also makes its own certificate authority (CA). If there is no \
            authority.toml, it writes one in which broker and page use TLS. Then set up each \
            board with the fingerprint that the command prints.
            """)

    @ParentCommand var program: AuthorityProgram
    @OptionGroup var place: PlaceOptions
    @Option(help: "The administrator's name.") var admin: String
    @Option(help: "A file with the password (default: ask).") var passwordFile: String?
    @Flag(help: "Make a CA, and certificates for the broker and the page.") var tls = false
    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "With --tls: a name or address by which boards and people reach this machine. "
                + "Repeat the option for more.", valueName: "name-or-address"))
    var host: [String] = []
    @Option(help: "With --tls: the authority's name, which people see.") var name: String?

    func validate() throws {
        guard tls || (host.isEmpty && name == nil) else {
            throw ValidationError("--host and --name need --tls")
        }
    }

    func run() async throws {
        let folder = place.folder(program.place)
        let made = tls ? try firstConfiguration(in: folder) : nil
        let settings: ServiceSettings
        do {
            settings = try place.settings(program.place)
            if tls { try requireOwnCertificates(settings, folder) }
            try await AuthorityCommands.run { try await found(settings) }
        } catch {
            // `init` failed, so its configuration file is removed.
            if let made { try? PrivateFile.remove(made) }
            throw error
        }
        if let made { say("✓ \(made)") }
        let state = StateFolder(settings)
        say("✓ an authority in \(state.recordPlace), with the administrator \(admin)")
        say("✓ the master key: \(state.masterKey); keep a copy in another place than the records")
        say("✓ " + Self.whenSessionsEnd(settings.rules.lifetimes))
        if let advice = settings.rules.passkeyAdvice { say("- \(advice)") }
        if settings.ownHosts != nil {
            try await AuthorityCommands.run { try tellOfCertificates(settings) }
        }
    }

    /// When the session of a board ends: `[session]` in `authority.toml`.
    static func whenSessionsEnd(_ lifetimes: LifetimePolicy) -> String {
        let ends = [
            lifetimes.absolute.map { "\($0.words) after it was made" },
            lifetimes.idle.map { "\($0.words) after the board was last heard" },
        ].compactMap(\.self)
        return ends.isEmpty ? "a board's session ends only when somebody ends it"
            : "a board's session ends \(ends.joined(separator: ", or ")); see [session]"
    }

    private func found(_ settings: ServiceSettings) async throws {
        let password = try LocalPasswordSource(file: passwordFile).read(confirming: true)
        let state = StateFolder(settings)
        try await state.found(administrator: admin, password: password, rules: settings.rules)
        guard settings.ownHosts != nil else { return }
        try state.makeCertificates(settings, anew: false, at: systemClock())
    }

    private func tellOfCertificates(_ settings: ServiceSettings) throws {
        let folder = StateFolder(settings).certificates
        let fingerprint = try folder.certificate().fingerprint.map(\.description) ?? ""
        say("✓ a CA: \(folder.authorityFile); compare its fingerprint:")
        print(fingerprint)
        say("A board: postern-agent setup --ca-fingerprint \(fingerprint)")
        say("You: postern --authority \(settings.rules.info.publicURL) login "
            + "--username \(admin) --ca-fingerprint \(fingerprint)")
    }

    // The configuration.

    /// Writes `authority.toml` if there is none, and returns its path. An existing file stays, and
    /// the result is nil.
    private func firstConfiguration(in folder: String) throws -> String? {
        let file = "\(folder)/authority.toml"
        guard !PrivateFile.isThere(file) else {
            guard host.isEmpty, name == nil else {
                say("\(file) exists already, and --host and --name are only for a new file: "
                    + "leave them out, and set name and [tls] hosts in it")
                throw Exit.usage
            }
            return nil
        }
        var hosts = host
        if hosts.isEmpty, let typed = ask("Name or address of this machine, for boards: ") {
            hosts = [typed]
        }
        guard !hosts.isEmpty else {
            say("give --host NAME-OR-ADDRESS, by which boards and people reach this machine")
            throw Exit.usage
        }
        let title = name ?? (host.isEmpty ? ask("A name that people see [Postern]: ") : nil)
        let text = FirstConfiguration(name: title ?? "Postern", hosts: hosts).text
        do {
            // Parse the text like any other file before it is written.
            _ = try AuthoritySettings.parse(
                text, file: "authority.toml", environment: { _ in nil })
        } catch {
            say("\(error)")
            throw Exit.usage
        }
        try PrivateFolder.prepare(folder, mode: 0o755)
        try PrivateFile.write(file, Array(text.utf8), mode: 0o644)
        return file
    }

    /// Nil if there is no terminal, or nothing was typed.
    private func ask(_ question: String) -> String? {
        guard Terminal.isTerminal(.input) else { return nil }
        FileHandle.standardError.write(Data(question.utf8))
        let answer = readLine()?.split(separator: " ").joined(separator: " ") ?? ""
        return answer.isEmpty ? nil : answer
    }

    private func requireOwnCertificates(
        _ settings: ServiceSettings, _ folder: String
    ) throws {
        guard settings.ownHosts == nil else { return }
        say("""
            \(folder)/authority.toml has no [tls] own = true. Add:

            [tls]
            own = true
            hosts = ["the name or address by which boards reach this machine"]
            """)
        throw Exit.configuration
    }
}

/// The first `authority.toml`: TLS at every address of this machine.
struct FirstConfiguration {
    let name: String
    /// The public host name or address is first.
    let hosts: [String]

    var text: String {
        let first = hosts.first ?? "localhost"
        let place = first.contains(":") ? "[\(first)]" : first
        return """
            # Made by `postern-authority init --tls`. You may change it.
            name = \(Self.quoted(name))

            [tls]
            own = true
            hosts = [\(hosts.map(Self.quoted).joined(separator: ", "))]

            [http]
            listen = "0.0.0.0:8443"
            public_url = \(Self.quoted("https://\(place):8443"))

            [broker]
            listen = "0.0.0.0:8883"
            advertise = \(Self.quoted("mqtts://\(place):8883"))

            [data]                      # what boards send is kept for 30 days; "0" keeps nothing
            keep = "30d"
            max_bytes = "1 GiB"

            """
    }

    /// A basic string. Source: TOML 1.0, String.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\" + String(scalar)
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
