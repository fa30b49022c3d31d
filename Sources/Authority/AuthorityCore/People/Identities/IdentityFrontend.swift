package import Sessions

/// Requests about a user's identities at other providers. `signUp` logs in with one.
package protocol IdentityFrontend {
    /// The caller's own identities. Empty for a restricted session.
    func identities(by caller: Caller) async throws(AuthorityError) -> [IdentityRecord]
    /// Adds the token's identity as another way for the caller to log in. The token can be used
    /// once.
    func link(
        _ proof: IdentityProof, from origin: String, by caller: Caller
    ) async throws(AuthorityError)
    /// Removes that way to log in. 142 if it is the caller's last one.
    func unlink(_ provider: LoginProvider, by caller: Caller) async throws(AuthorityError)
}

/// Parse's `authData.<provider>`: a provider's proof of who a person is.
package struct IdentityProof: Sendable {
    package let provider: LoginProvider
    package let token: IDToken
    /// The subject that the client expects. The token must have the same.
    package let id: String?

    package init(provider: LoginProvider, token: IDToken, id: String? = nil) {
        self.provider = provider
        self.token = token
        self.id = id
    }
}
