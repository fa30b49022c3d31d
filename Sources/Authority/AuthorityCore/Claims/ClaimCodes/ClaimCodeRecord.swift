package import Sessions

/// A board's request to be claimed by a person who types its code.
package struct ClaimCodeRecord: Equatable, Sendable {
    package enum State: String, Sendable {
        case waiting, named, claimed, refused
    }

    /// HMAC of the secret that only the board has.
    package let deviceHash: [UInt8]
    /// HMAC of the code that the board shows.
    package let userHash: [UInt8]
    package let installation: InstallationID
    package let deviceKey: [UInt8]
    /// The board's own name for itself. Nobody has checked it.
    package let boardName: String
    /// The board's address.
    package let origin: String
    package let createdAt: Timestamp
    package let endsAt: Timestamp
    package var state = State.waiting
    /// The user who typed the code, and the session in which they did.
    package var user: UserID?
    package var session: ObjectID?
    /// What that user chose. It was checked before it was stored.
    package var duration: Duration?
    package var scope: ScopeText?
    package var custom: [String: JSONValue] = [:]
    /// The claim that the board confirmed.
    package var claim: MessageID?

    package init(
        deviceHash: [UInt8], userHash: [UInt8], installation: InstallationID, deviceKey: [UInt8],
        boardName: String, origin: String, createdAt: Timestamp, endsAt: Timestamp
    ) {
        self.deviceHash = deviceHash
        self.userHash = userHash
        self.installation = installation
        self.deviceKey = deviceKey
        self.boardName = boardName
        self.origin = origin
        self.createdAt = createdAt
        self.endsAt = endsAt
    }

    /// Whether a person may still choose, and the board refuse.
    func isOpen(at now: Timestamp) -> Bool {
        endsAt > now && (state == .waiting || state == .named)
    }

    /// How long a code lives, whatever happens to it.
    static let life = Duration.seconds(600)
    /// How long a board waits before it asks again.
    static let interval = Duration.seconds(2)
}

package protocol ClaimCodeTable {
    func claimCode(deviceHash: [UInt8]) throws(AuthorityError) -> ClaimCodeRecord?
    func claimCode(userHash: [UInt8]) throws(AuthorityError) -> ClaimCodeRecord?
    /// The end of the newest code but `skipped` that has not ended yet. Nil if there are no more
    /// than `skipped`. Codes that claimed their board do not count.
    func claimCodeEnd(
        in scope: RequestScope, skipping skipped: Int, after now: Timestamp
    ) throws(AuthorityError) -> Timestamp?
    /// Returns false if the code or the secret is taken.
    func insert(_ code: ClaimCodeRecord) throws(AuthorityError) -> Bool
    /// Writes everything but the board and the times.
    func update(_ code: ClaimCodeRecord) throws(AuthorityError)
    /// Also deletes codes that were stored while the clock was far ahead. Deletes at most `limit`
    /// and returns how many.
    func deleteClaimCodes(endedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
}
