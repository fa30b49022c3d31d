package import Sessions

/// A passkey of a user.
package struct PasskeyRecord: Equatable, Sendable {
    package let id: ObjectID
    /// The credential id that the authenticator made: 1 to 1023 bytes.
    package let credential: [UInt8]
    package let user: UserID
    /// The RP id for which it was made.
    package let site: String
    package var name: String
    /// The public key, a COSE_Key.
    package let coseKey: [UInt8]
    /// The authenticator's counter at the last use.
    package var counter: UInt32
    package let createdAt: Timestamp
    /// Nil: not used since it was added.
    package var lastUsedAt: Timestamp?

    package init(
        id: ObjectID, credential: [UInt8], user: UserID, site: String, name: String,
        coseKey: [UInt8], counter: UInt32, createdAt: Timestamp, lastUsedAt: Timestamp? = nil
    ) {
        self.id = id
        self.credential = credential
        self.user = user
        self.site = site
        self.name = name
        self.coseKey = coseKey
        self.counter = counter
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
    }
}

/// A recovery code that was not used yet.
package struct RecoveryCodeRecord: Equatable, Sendable {
    package let user: UserID
    /// HMAC of the code. The code itself is not stored.
    package let hash: [UInt8]
    package let createdAt: Timestamp

    package init(user: UserID, hash: [UInt8], createdAt: Timestamp) {
        self.user = user
        self.hash = hash
        self.createdAt = createdAt
    }
}

package protocol PasskeyTable {
    func passkey(credential: [UInt8]) throws(AuthorityError) -> PasskeyRecord?
    /// The oldest first.
    func passkeys(of user: UserID) throws(AuthorityError) -> [PasskeyRecord]
    /// Returns false if a user has that credential already.
    func insert(_ passkey: PasskeyRecord) throws(AuthorityError) -> Bool
    /// Writes name, counter and last use.
    func update(_ passkey: PasskeyRecord) throws(AuthorityError)
    func deletePasskey(_ id: ObjectID) throws(AuthorityError)

    func recoveryCode(of user: UserID) throws(AuthorityError) -> RecoveryCodeRecord?
    func recoveryCode(hash: [UInt8]) throws(AuthorityError) -> RecoveryCodeRecord?
    /// Replaces the user's earlier code.
    func save(_ code: RecoveryCodeRecord) throws(AuthorityError)
    /// Returns false if there was none: of two uses at once, one wins.
    func deleteRecoveryCode(of user: UserID) throws(AuthorityError) -> Bool
}
