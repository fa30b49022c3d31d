package import Sessions

/// A provider of logins that this authority is configured to believe.
package struct IdentityProvider: Equatable, Sendable {
    package let name: LoginProvider
    /// Exactly what its tokens say in `iss`.
    package let issuer: String
    /// What we are called there: a token is for one of these, or not for us.
    package let audiences: Set<String>
    /// Whether an identity that nobody here has makes a user.
    package let letsPeopleSignUp: Bool

    package init(
        name: LoginProvider, issuer: String, audiences: Set<String>, letsPeopleSignUp: Bool
    ) {
        self.name = name
        self.issuer = issuer
        self.audiences = audiences
        self.letsPeopleSignUp = letsPeopleSignUp
    }
}

/// Verifies the signatures of id tokens, by the key sets of the providers.
package protocol IDTokenSignatures: Sendable {
    /// What the token says, as bytes and not yet judged, if a key of this provider signed it.
    ///
    /// - Throws: `failed` with the layer on which the provider's keys could not be had.
    func payload(
        of token: IDToken, from provider: LoginProvider
    ) async throws(AuthorityError) -> Result<[UInt8], IDTokenFault>
}

/// For an authority that believes no provider.
package struct NoIDTokens: IDTokenSignatures {
    package init() {}

    package func payload(
        of token: IDToken, from provider: LoginProvider
    ) async throws(AuthorityError) -> Result<[UInt8], IDTokenFault> { .failure(.unknownKey) }
}
