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

    /// Begins a login by the page's button; 101 if there is none. With `isAgain` the provider asks
    /// the person again who they are.
    func departure(
        to name: LoginProvider, isAgain: Bool
    ) async throws(AuthorityError) -> ProviderDeparture
    /// Ends a login by the page's button. Opens an unrestricted session of the user with that
    /// identity, or of a new user, as `signUp` does with an id token. 155 for too many tries.
    func login(
        _ arrival: ProviderArrival
    ) async throws(AuthorityError) -> Result<LoggedIn, ProviderProblem>
}

/// Parse's `authData.<provider>`: a provider's proof of who a person is.
package struct IdentityProof: Sendable {
    package let provider: LoginProvider
    package let token: IDToken
    /// The subject that the client expects. The token must have the same.
    package let id: String?
    /// The `nonce` that the token must have. Nil: a client got it, and checked that itself.
    package let nonce: SecretBytes?

    package init(
        provider: LoginProvider, token: IDToken, id: String? = nil, nonce: SecretBytes? = nil
    ) {
        self.provider = provider
        self.token = token
        self.id = id
        self.nonce = nonce
    }
}
