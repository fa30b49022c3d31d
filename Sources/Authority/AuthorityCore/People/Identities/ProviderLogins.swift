package import Sessions
import WebAuthn
import Wire

/// A person who comes back from a provider.
package struct ProviderArrival: Sendable {
    package let provider: LoginProvider
    /// The cookie of the visit. Nil: the request had none.
    package let visit: SecretBytes?
    package let state: String?
    package let code: String?
    /// The provider's error code.
    package let error: String?
    package let issuer: String?
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(
        provider: LoginProvider, visit: SecretBytes?, state: String?, code: String?,
        error: String?, issuer: String?, origin: String
    ) {
        self.provider = provider
        self.visit = visit
        self.state = state
        self.code = code
        self.error = error
        self.issuer = issuer
        self.origin = origin
    }
}

/// Where a person goes to log in, and the cookie that the person needs to come back.
package struct ProviderDeparture: Sendable {
    package let address: String
    package let visit: SecretBytes
    /// How long the cookie lives.
    package var life: Duration { ProviderVisit.life }

    package init(address: String, visit: SecretBytes) {
        self.address = address
        self.visit = visit
    }
}

/// A button of the page.
package struct ProviderButton: Equatable, Sendable {
    package let name: LoginProvider
    /// For people.
    package let title: String
    /// Where the button leads.
    package let address: String

    package init(name: LoginProvider, title: String, address: String) {
        self.name = name
        self.title = title
        self.address = address
    }
}

/// Logs people in with the page's buttons: the authorization code flow with PKCE.
///
/// Source: OpenID Connect Core §3.1; RFC 7636; RFC 9207; RFC 9700 §2.1 and §4.
extension Authority {
    /// The buttons in the order of their names. Empty if a browser would not keep the cookie.
    var providerButtons: [ProviderButton] {
        let site = loginSite
        guard site.origin.hasPrefix("https://")
            || ["localhost", "127.0.0.1", "[::1]"].contains(site.id)
        else { return [] }
        return rules.providers.values.compactMap { provider in
            provider.entry.map { entry in
                ProviderButton(
                    name: provider.name, title: entry.title, address: address(of: provider.name))
            }
        }.sorted { $0.name.description < $1.name.description }
    }

    private func address(of provider: LoginProvider) -> String {
        "\(info.publicURL)/postern/v1/console/providers/\(provider)"
    }

    /// Each provider has its own, so that no other one can answer there.
    private func redirectURI(of provider: LoginProvider) -> String {
        address(of: provider) + "/callback"
    }

    package func departure(
        to name: LoginProvider, isAgain: Bool
    ) async throws(AuthorityError) -> ProviderDeparture {
        let (provider, entry) = try withButton(name)
        let entrance = try await codes.entrance(of: provider.name)
        let now = clock()
        let visit = ProviderVisit(provider: provider.name)
        let cookie = try visit.begin(self, at: now)
        guard let secrets = try visit.secrets(of: cookie, self, at: now) else {
            throw .failed(layer: "crypto", text: "a visit could not be made")
        }
        let digest = try cryptography.sha256(secrets.verifier.reveal())
        var query = [
            ("response_type", "code"), ("scope", "openid"), ("client_id", entry.clientID),
            ("redirect_uri", redirectURI(of: provider.name)),
            ("state", Self.plain(secrets.state)), ("nonce", Self.plain(secrets.nonce)),
            ("code_challenge", Base64URL.encode(digest)), ("code_challenge_method", "S256"),
        ]
        // Source: OpenID Connect Core §3.1.2.1.
        if isAgain { query += [("prompt", "login"), ("max_age", "0")] }
        let text = query.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let joint = entrance.address.contains("?") ? "&" : "?"
        return ProviderDeparture(address: entrance.address + joint + text, visit: cookie)
    }

    package func login(
        _ arrival: ProviderArrival
    ) async throws(AuthorityError) -> Result<LoggedIn, ProviderProblem> {
        let (provider, _) = try withButton(arrival.provider)
        let now = clock()
        let visit = ProviderVisit(provider: provider.name)
        // A stranger's request ends here, and nothing was stored or asked.
        guard let secrets = try visit.secrets(of: arrival.visit, self, at: now),
            let state = arrival.state, secrets.state.matches(SecretBytes(Array(state.utf8)))
        else { return .failure(.visit) }
        let keys = LoginKeys(provider: provider.name, origin: arrival.origin)
        let isNew = try await store.transact { transaction throws(AuthorityError) in
            try count(keys, transaction, at: now)
            return try secrets.spend(transaction)
        }
        let outcome: Result<LoggedIn, ProviderProblem>
        do throws(AuthorityError) {
            outcome = isNew
                ? try await enter(arrival, provider, secrets, keys) : .failure(.visit)
        } catch .failed(let layer, let text) {
            // Nobody's fault, so the try counts only for its address.
            try await store.transact { transaction throws(AuthorityError) in
                try transaction.clearFailures(keys.each)
            }
            throw .failed(layer: layer, text: text)
        }
        if case .failure(let problem) = outcome, problem != .token, problem != .nobody {
            try await noteFailure(problem.words, provider.name, from: arrival.origin)
        }
        return outcome
    }

    private func enter(
        _ arrival: ProviderArrival, _ provider: IdentityProvider,
        _ secrets: ProviderVisit.Secrets, _ keys: LoginKeys
    ) async throws(AuthorityError) -> Result<LoggedIn, ProviderProblem> {
        // Source: RFC 9207 §2.4.
        guard arrival.issuer ?? provider.issuer == provider.issuer else {
            return .failure(.issuer)
        }
        if let error = arrival.error { return .failure(ProviderProblem(errorCode: error)) }
        if try await codes.entrance(of: provider.name).namesItself, arrival.issuer == nil {
            return .failure(.issuer)
        }
        guard let code = arrival.code, (1...2048).contains(code.utf8.count) else {
            return .failure(.refused)
        }
        let exchanged = try await codes.token(
            for: AuthorizationCode(
                code: SecretBytes(Array(code.utf8)), verifier: secrets.verifier,
                redirectURI: redirectURI(of: provider.name), origin: arrival.origin),
            at: provider.name)
        switch exchanged {
        case .failure(let problem): return .failure(problem)
        case .success(let token):
            let proof = IdentityProof(provider: provider.name, token: token, nonce: secrets.nonce)
            return try await open(
                proof, provider, keys,
                SignUp(credential: .identity(proof), installation: nil, origin: arrival.origin))
        }
    }

    private func open(
        _ proof: IdentityProof, _ provider: IdentityProvider, _ keys: LoginKeys,
        _ attempt: SignUp
    ) async throws(AuthorityError) -> Result<LoggedIn, ProviderProblem> {
        var outcome: Result<LoggedIn, IDTokenFault>
        switch try await proven(proof, by: provider, keys) {
        case .success(let proven): outcome = try await open(proven, attempt)
        case .failure(let fault): outcome = .failure(fault)
        }
        if case .failure(let fault) = outcome {
            try await noteFailure(fault.words, provider.name, from: attempt.origin)
        }
        return outcome.mapError { ProviderProblem($0) }
    }

    private func withButton(
        _ name: LoginProvider
    ) throws(AuthorityError) -> (IdentityProvider, IdentityProvider.PageEntry) {
        guard providerButtons.contains(where: { $0.name == name }),
            let provider = rules.providers[name], let entry = provider.entry
        else { throw .refuse(.notFound, "the page has no button for this provider") }
        return (provider, entry)
    }

    private static func plain(_ secret: SecretBytes) -> String {
        String(decoding: secret.reveal(), as: UTF8.self)
    }
}
