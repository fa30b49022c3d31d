import ArgumentParser
import Sessions
import Wire

/// `postern login`: opens a session and saves it in the profile.
struct LoginCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Log in at an authority, and keep the login.",
        discussion: """
            The command asks for the password, or reads it from a file or standard input. There \
            is no option for it, because other users of the machine can read command lines.
            """)

    @OptionGroup var place: Place
    @Option(help: "Your user name at the authority.") var username: String
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
        let secret = try password.read(
            prompt: "Password of \(Printable.line(username)): ", in: surroundings)
        var client = AuthorityClient(url: url, trust: trust)
        let info = try await client.own(.get, "/info")
        client.applicationID = try decoding { () throws(WireError) in
            try info.parsed("applicationId", Self.headerValue)
        }
        let answer = try await client.own(.post, "/login", [
            "username": .string(username),
            "password": .string(secret.text),
        ])
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
