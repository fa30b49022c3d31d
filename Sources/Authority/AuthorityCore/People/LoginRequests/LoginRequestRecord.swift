package import Sessions

/// A program's request to log in. A person decides it at the page.
package struct LoginRequestRecord: Equatable, Sendable {
    package enum State: String, Sendable {
        case waiting, allowed, denied
    }

    /// HMAC of the device code, which only the program has.
    package let deviceHash: [UInt8]
    /// HMAC of the user code, which the program shows.
    package let userHash: [UInt8]
    /// The program's own name for itself. Nobody has checked it.
    package let program: String
    /// The program's address.
    package let origin: String
    package let createdAt: Timestamp
    package let endsAt: Timestamp
    package var state = State.waiting
    /// The user who allowed it, and the session in which they did.
    package var user: UserID?
    package var session: ObjectID?
    /// When the program last asked for its session.
    package var polledAt: Timestamp?

    package init(
        deviceHash: [UInt8], userHash: [UInt8], program: String, origin: String,
        createdAt: Timestamp, endsAt: Timestamp
    ) {
        self.deviceHash = deviceHash
        self.userHash = userHash
        self.program = program
        self.origin = origin
        self.createdAt = createdAt
        self.endsAt = endsAt
    }

    /// How long a request lives.
    static let life = Duration.seconds(600)
    /// How long a program waits before it asks again.
    static let interval = Duration.seconds(5)
    /// Authorities on one store may have clocks that differ a little.
    private static let tolerance = Duration.seconds(1)

    /// Whether the program asks again before its time.
    func isAskedTooSoon(at now: Timestamp) -> Bool {
        guard let polledAt else { return false }
        let age = now - polledAt
        return age >= .zero && age < Self.interval - Self.tolerance
    }
}

package protocol LoginRequestTable {
    func loginRequest(deviceHash: [UInt8]) throws(AuthorityError) -> LoginRequestRecord?
    func loginRequest(userHash: [UInt8]) throws(AuthorityError) -> LoginRequestRecord?
    /// The end of the newest request but `skipped` that has not ended yet. Nil if there are no more
    /// than `skipped`.
    func loginRequestEnd(
        in scope: RequestScope, skipping skipped: Int, after now: Timestamp
    ) throws(AuthorityError) -> Timestamp?
    /// Returns false if one of the two codes is taken.
    func insert(_ request: LoginRequestRecord) throws(AuthorityError) -> Bool
    /// Writes state, user, session and the time of the last poll.
    func update(_ request: LoginRequestRecord) throws(AuthorityError)
    /// Returns false if there was none: of two uses at once, one wins.
    func deleteLoginRequest(deviceHash: [UInt8]) throws(AuthorityError) -> Bool
    /// Deletes those that this user has allowed and whose programs have no session yet.
    func deleteLoginRequests(allowedBy user: UserID) throws(AuthorityError)
    /// Also deletes requests that were stored while the clock was far ahead. Deletes at most
    /// `limit` and returns how many.
    func deleteLoginRequests(endedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
}
