package import Sessions

/// An identity provider that this authority is configured to trust.
package struct IdentityProvider: Equatable, Sendable {
    package let name: LoginProvider
    /// The exact `iss` of its tokens.
    package let issuer: String
    /// This authority's client ids at the provider. A token must be for one of them.
    package let audiences: Set<String>
    /// Whether an unknown identity creates a user.
    package let letsPeopleSignUp: Bool
    /// The page's button. Nil: the page has none for this provider.
    package let entry: PageEntry?

    package struct PageEntry: Equatable, Sendable {
        /// One of `audiences`.
        package let clientID: String
        /// For people.
        package let title: String

        package init(clientID: String, title: String) {
            self.clientID = clientID
            self.title = title
        }
    }

    package init(
        name: LoginProvider, issuer: String, audiences: Set<String>, letsPeopleSignUp: Bool,
        entry: PageEntry? = nil
    ) {
        self.name = name
        self.issuer = issuer
        self.audiences = audiences
        self.letsPeopleSignUp = letsPeopleSignUp
        self.entry = entry
    }
}

/// Verifies the signatures of id tokens with the providers' keys.
package protocol IDTokenSignatures: Sendable {
    /// The token's claims as unchecked bytes, if a key of this provider signed it.
    ///
    /// - Throws: `failed` if the provider's keys cannot be loaded; its layer says where.
    func payload(
        of token: IDToken, from provider: LoginProvider
    ) async throws(AuthorityError) -> Result<[UInt8], IDTokenFault>
}

/// For an authority without identity providers.
package struct NoIDTokens: IDTokenSignatures {
    package init() {}

    package func payload(
        of token: IDToken, from provider: LoginProvider
    ) async throws(AuthorityError) -> Result<[UInt8], IDTokenFault> { .failure(.unknownKey) }
}
