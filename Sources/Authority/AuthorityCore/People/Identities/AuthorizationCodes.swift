package import Sessions

/// Asks the providers that have a button on the page: where their login page is, and which id token
/// belongs to a code.
package protocol AuthorizationCodes: Sendable {
    /// - Throws: `failed` if the provider's description cannot be loaded; its layer says where.
    func entrance(of provider: LoginProvider) async throws(AuthorityError) -> ProviderEntrance
    /// Exchanges a code for its id token, which is not checked yet.
    ///
    /// - Throws: `failed` if the provider gives no answer, and 155 if too many codes are being
    ///   exchanged.
    func token(
        for code: AuthorizationCode, at provider: LoginProvider
    ) async throws(AuthorityError) -> Result<IDToken, ProviderProblem>
}

/// Where a provider logs people in.
package struct ProviderEntrance: Equatable, Sendable {
    /// It may have a query.
    package let address: String
    /// Whether its answers always name it in `iss`. Source: RFC 9207 §3.
    package let namesItself: Bool

    package init(address: String, namesItself: Bool) {
        self.address = address
        self.namesItself = namesItself
    }
}

/// An authorization code with what shows that we asked for it.
package struct AuthorizationCode: Sendable {
    package let code: SecretBytes
    /// Source: RFC 7636 §4.1.
    package let verifier: SecretBytes
    package let redirectURI: String
    /// The address of the person, for the limit of exchanges.
    package let origin: String

    package init(code: SecretBytes, verifier: SecretBytes, redirectURI: String, origin: String) {
        self.code = code
        self.verifier = verifier
        self.redirectURI = redirectURI
        self.origin = origin
    }
}

/// For an authority whose page has no buttons for providers.
package struct NoAuthorizationCodes: AuthorizationCodes {
    package init() {}

    package func entrance(
        of provider: LoginProvider
    ) async throws(AuthorityError) -> ProviderEntrance {
        throw .refuse(.notFound, "the page has no button for this provider")
    }

    package func token(
        for code: AuthorizationCode, at provider: LoginProvider
    ) async throws(AuthorityError) -> Result<IDToken, ProviderProblem> { .failure(.code) }
}
