import ArgumentParser
import Foundation

/// Options for the authority and the form of the results. They may come before or after the
/// command's name.
struct Place: ParsableArguments {
    @Option(help: ArgumentHelp(
        "The authority's address, such as https://authority.example.",
        discussion: "Without it: POSTERN_AUTHORITY, then the authority of the last login.",
        valueName: "url"))
    var authority: String?

    @Option(help: ArgumentHelp(
        "The folder of the login.",
        discussion: "Without it: $XDG_CONFIG_HOME/postern, or ~/.config/postern.",
        valueName: "folder"))
    var profileDir: String?

    @Option(help: ArgumentHelp(
        "CA certificates (PEM) to trust for the authority instead of the system's.",
        valueName: "file"))
    var caFile: String?

    @Option(help: ArgumentHelp(
        "Your certificate (PEM), if the authority asks for one; give --key with it.",
        discussion: "The login keeps the paths of both.", valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The key of your certificate (PEM).", valueName: "file"))
    var key: String?

    @Flag(help: "Allow plain HTTP to another machine.")
    var insecure = false

    @Flag(help: "Results as JSON.")
    var json = false

    func validate() throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("give --certificate and --key together")
        }
    }

    /// The trust from the options. If an option is missing, the saved login's value is used.
    func trust(_ kept: AuthorityTrust = AuthorityTrust()) -> AuthorityTrust {
        var trust = kept
        if let caFile { trust.roots = .file(Self.absolute(caFile)) }
        if let certificate, let key {
            trust.identity = AuthorityTrust.Identity(
                certificateFile: Self.absolute(certificate), keyFile: Self.absolute(key))
        }
        return trust
    }

    /// Makes the path absolute, because it is saved and used later from any folder.
    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).path
    }

    func folder(in surroundings: CommandEnvironment) throws(CommandFailure) -> ProfileFolder {
        if let profileDir { return ProfileFolder(path: profileDir) }
        let environment = surroundings.environment
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") {
            return ProfileFolder(path: "\(base)/postern")
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw .configuration("HOME is not set; use --profile-dir")
        }
        return ProfileFolder(path: "\(home)/.config/postern")
    }

    /// The address from the option or the environment; nil if there is none.
    func named(in surroundings: CommandEnvironment) throws(CommandFailure) -> AuthorityURL? {
        let variable = surroundings.environment["POSTERN_AUTHORITY"].flatMap {
            $0.isEmpty ? nil : $0
        }
        guard let text = authority ?? variable else { return nil }
        guard let url = AuthorityURL(text) else {
            throw .usage("the authority's address is http(s)://host[:port], with no path after it")
        }
        return url
    }

    /// Throws unless a secret may be sent to `url`.
    func check(_ url: AuthorityURL) throws(CommandFailure) {
        guard url.isSafe(insecure: insecure) else {
            throw .usage("plain HTTP would show your session to the network; "
                + "use https://, or --insecure if you must")
        }
    }

    /// The login and a client that uses it.
    ///
    /// A token is sent only to the authority that gave it. Another `--authority` counts as not
    /// logged in.
    func login(
        in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> (profile: Profile, client: AuthorityClient) {
        let named = try named(in: surroundings)
        guard let profile = try folder(in: surroundings).load() else {
            throw .notLoggedIn("you are not logged in")
        }
        if let named, named != profile.authority {
            throw .notLoggedIn("you are logged in at \(profile.authority), not at \(named)")
        }
        try check(profile.authority)
        let client = AuthorityClient(
            url: profile.authority, trust: trust(profile.trust),
            applicationID: profile.applicationID, token: profile.token)
        return (profile, client)
    }
}
