import ArgumentParser
import Sessions
import Wire

/// `postern login`: opens a session and saves it in the profile.
struct LoginCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Log in at an authority, and keep the login.",
        discussion: """
            Without --username you log in by a browser, on this machine or another: the command \
            shows a page's address and a code, and waits until you allow the login at that page.

            With --username the command asks for the password, or reads it from a file or \
            standard input. There is no option for it, because other users of the machine can \
            read command lines.
            """)

    @OptionGroup var place: Place
    @Argument(help: "The authority's address; the same as --authority.") var url: String?
    @Option(help: "Your user name at the authority, to log in with a password.")
    var username: String?
    @Flag(help: "Log in by a browser. It is the same without --username.") var browser = false
    @OptionGroup var password: PasswordSource
    @Option(help: ArgumentHelp(
        "The fingerprint of the authority's own CA, as `postern-authority init --tls` prints it.",
        discussion: """
            The command fetches the CA from the authority, compares its fingerprint, and keeps \
            it in the login. From then on no other CA is trusted for that authority.
            """, valueName: "SHA256:…"), transform: Self.fingerprint)
    var caFingerprint: CertificateFingerprint?

    func validate() throws {
        guard caFingerprint == nil || place.caFile == nil else {
            throw ValidationError("--ca-fingerprint and --ca-file exclude each other")
        }
        guard url == nil || place.authority == nil else {
            throw ValidationError("name the authority once: as an argument or with --authority")
        }
        guard username == nil || !browser else {
            throw ValidationError("--browser and --username exclude each other")
        }
        guard username != nil || password.passwordFile == nil else {
            throw ValidationError("--password-file needs --username")
        }
    }

    private static func fingerprint(_ text: String) throws -> CertificateFingerprint {
        guard let fingerprint = CertificateFingerprint(text) else {
            throw ValidationError("a fingerprint is SHA256: and 32 bytes in hexadecimal")
        }
        return fingerprint
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let folder = try place.folder(in: surroundings)
        let url = try authority(folder, surroundings)
        try place.check(url)
        let trust = try await trust(in: url, keptIn: folder)
        var client = AuthorityClient(url: url, trust: trust)
        let answer = if let username {
            try await logIn(username, at: &client, surroundings)
        } else {
            try await logInByBrowser(at: &client, surroundings)
        }
        let profile = try profile(answer, at: client)
        try folder.store(profile)
        surroundings.step(true, "logged in at \(url) as \(Printable.line(profile.username))")
        if place.json {
            surroundings.emit(.object([
                "username": .string(profile.username),
                "objectId": .string(profile.objectID.description),
            ]))
        }
    }

    private func logIn(
        _ username: String, at client: inout AuthorityClient, _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> JSONObject {
        func read() throws(CommandFailure) -> SecretBytes {
            try password.read(
                prompt: "Password of \(Printable.line(username)): ", in: surroundings)
        }
        // A file is read first, because it may be wrong. A person is asked last.
        let kept = password.passwordFile == nil ? nil : try read()
        let info = try await introduce(&client)
        guard info.members["login"]?.asObject?["passwords"] != .bool(false) else {
            throw .usage("passwords are switched off at \(client.url); log in by a browser: "
                + "`postern login` without --username")
        }
        let secret = if let kept { kept } else { try read() }
        return try await client.own(.post, "/login", [
            "username": .string(username),
            "password": .string(secret.text),
        ])
    }

    private func logInByBrowser(
        at client: inout AuthorityClient, _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> JSONObject {
        try await introduce(&client)
        return try await BrowserLogin(client: client, surroundings: surroundings).perform()
    }

    /// Learns the authority's application id, which all other requests need.
    @discardableResult
    private func introduce(
        _ client: inout AuthorityClient
    ) async throws(CommandFailure) -> JSONObject {
        let info = try await client.own(.get, "/info")
        client.applicationID = try decoding { () throws(WireError) in
            try info.parsed("applicationId", Self.headerValue)
        }
        return info
    }

    /// The trust for this login's authority: the options first, then the last login there.
    private func trust(
        in url: AuthorityURL, keptIn folder: ProfileFolder
    ) async throws(CommandFailure) -> AuthorityTrust {
        let last = try? folder.load()
        var trust = place.trust(last?.authority == url ? last?.trust ?? AuthorityTrust()
            : AuthorityTrust())
        if let caFingerprint {
            trust.roots = .pinned(try await AuthorityClient.certificateAuthority(
                at: url, caFingerprint, showing: trust.identity))
        }
        return trust
    }

    /// The authority that was named, or else that of the last login. A damaged profile does no harm
    /// if an authority was named.
    private func authority(
        _ folder: ProfileFolder, _ surroundings: CommandEnvironment
    ) throws(CommandFailure) -> AuthorityURL {
        var place = place
        if let url { place.authority = url }
        if let named = try place.named(in: surroundings) { return named }
        guard let last = try folder.load() else {
            throw .usage("name the authority with --authority URL or POSTERN_AUTHORITY")
        }
        return last.authority
    }

    private func profile(
        _ answer: JSONObject, at client: AuthorityClient
    ) throws(CommandFailure) -> Profile {
        try decoding { () throws(WireError) in
            Profile(
                authority: client.url, applicationID: client.applicationID ?? "",
                username: try answer.string("username"),
                objectID: try answer.parsed("objectId", ObjectID.init),
                token: try answer.parsed("sessionToken", SessionToken.init),
                trust: client.trust)
        }
    }

    /// Accepts only plain text, so that the authority's value cannot become another header or host.
    private static func headerValue(_ text: String) -> String? {
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isPlain && (1...128).contains(text.utf8.count) ? text : nil
    }
}
