package import Sessions

/// What a person may ask about who he is elsewhere. Logging in by it is `signUp`.
package protocol IdentityFrontend {
    /// One's own; none for a restricted session.
    func identities(by caller: Caller) async throws(AuthorityError) -> [IdentityRecord]
    /// Makes what the token says another way for the caller to log in; the token serves once.
    func link(
        _ proof: IdentityProof, from origin: String, by caller: Caller
    ) async throws(AuthorityError)
    /// Takes that way to log in from the caller; 142 if it is his last.
    func unlink(_ provider: LoginProvider, by caller: Caller) async throws(AuthorityError)
}

/// Parse's `authData.<provider>`: what somebody else says of a person.
package struct IdentityProof: Sendable {
    package let provider: LoginProvider
    package let token: IDToken
    /// Who the client thinks it is; the token must say the same.
    package let id: String?

    package init(provider: LoginProvider, token: IDToken, id: String? = nil) {
        self.provider = provider
        self.token = token
        self.id = id
    }
}
