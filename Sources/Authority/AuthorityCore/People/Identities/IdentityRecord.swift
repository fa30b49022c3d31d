package import Sessions

/// Links a user to an identity at a provider.
package struct IdentityRecord: Equatable, Sendable {
    package let provider: LoginProvider
    /// A subject identifies a person only together with the issuer.
    /// Source: OpenID Connect Core §5.7.
    package let issuer: String
    package let subject: String
    package let user: UserID
    package let createdAt: Timestamp

    package init(
        provider: LoginProvider, issuer: String, subject: String, user: UserID,
        createdAt: Timestamp
    ) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
        self.user = user
        self.createdAt = createdAt
    }
}

package protocol IdentityTable {
    func identity(
        _ provider: LoginProvider, issuer: String, subject: String
    ) throws(AuthorityError) -> IdentityRecord?
    /// Sorted by provider name. A user has at most one identity of each provider.
    func identities(of user: UserID) throws(AuthorityError) -> [IdentityRecord]
    /// Returns false if a user has that identity already, or this user has another one of that
    /// provider.
    func insert(_ identity: IdentityRecord) throws(AuthorityError) -> Bool
    /// Returns false if there was none.
    func deleteIdentity(
        _ provider: LoginProvider, of user: UserID
    ) throws(AuthorityError) -> Bool

    /// Spends a proof that serves once: an id token, or a passkey's challenge. Returns false if it
    /// was used before: of two at once, one wins.
    func spend(hash: [UInt8], until end: Timestamp) throws(AuthorityError) -> Bool
    /// Deletes used proofs that are no longer needed. Deletes at most `limit` and returns how many.
    func deleteSpentProofs(endedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
}
