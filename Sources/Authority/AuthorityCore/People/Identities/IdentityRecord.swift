package import Sessions

/// That a user here is somebody there.
package struct IdentityRecord: Equatable, Sendable {
    package let provider: LoginProvider
    /// A subject says who somebody is only together with the issuer.
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
    /// In the order of the providers' names; a user has one of each provider at most.
    func identities(of user: UserID) throws(AuthorityError) -> [IdentityRecord]
    /// False if somebody has that identity, or the user another one of that provider.
    func insert(_ identity: IdentityRecord) throws(AuthorityError) -> Bool
    /// False if there was none.
    func deleteIdentity(
        _ provider: LoginProvider, of user: UserID
    ) throws(AuthorityError) -> Bool

    /// False if it was spent before: of two at once one wins.
    func spendIDToken(hash: [UInt8], until end: Timestamp) throws(AuthorityError) -> Bool
    /// Those that are no longer good for anything; at most `limit`, and says how many.
    func deleteSpentIDTokens(endedBefore time: Timestamp, limit: Int) throws(AuthorityError)
        -> Int
}
