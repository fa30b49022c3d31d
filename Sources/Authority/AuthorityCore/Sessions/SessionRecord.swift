package import Sessions

/// A session with everything the authority must know of it. No token is in it.
package struct SessionRecord: Sendable {
    package enum State: String, Sendable {
        /// Provisioned, and not yet accepted by the board.
        case pending
        case active
        /// Over for good, for `endReason`.
        case ended
    }

    package var session: Session
    package var state: State
    /// Why it is over, as the audit log and the board are told.
    package var endReason: String?
    /// HMAC of the session token; the token itself is kept nowhere.
    package var tokenHash: [UInt8]
    /// Nil for a person's own session.
    package var family: RefreshFamilyID?
    /// The key that the session's board speaks with, 32 bytes.
    package var deviceKey: [UInt8]?
    package var scope: ScopeText?
    /// `expiresAt` may be moved, but never past this; nil is no limit.
    package var absoluteLimit: Timestamp?
    /// The last authenticated request.
    package var lastSeen: Timestamp
    /// Where a session that ended has not yet been taken leave of.
    package var farewell: Farewell?

    package init(
        session: Session, state: State, tokenHash: [UInt8], family: RefreshFamilyID?,
        deviceKey: [UInt8]?, scope: ScopeText?, absoluteLimit: Timestamp?, lastSeen: Timestamp
    ) {
        self.session = session
        self.state = state
        self.tokenHash = tokenHash
        self.family = family
        self.deviceKey = deviceKey
        self.scope = scope
        self.absoluteLimit = absoluteLimit
        self.lastSeen = lastSeen
    }

    package var id: ObjectID { session.objectID }

    /// The board that it lives on; nil for any other session, whatever installation it names.
    package var board: InstallationID? { deviceKey == nil ? nil : session.installationID }

    /// Whether a request may still be made under it.
    package func isLive(at now: Timestamp, under lifetimes: LifetimePolicy) -> Bool {
        guard state != .ended else { return false }
        return !hasExpired(at: now, under: lifetimes)
    }

    /// Whether a limit has passed: its own, the absolute one, or the idle one once in use.
    package func hasExpired(at now: Timestamp, under lifetimes: LifetimePolicy) -> Bool {
        if hasReachedOwnEnd(at: now) { return true }
        if let limit = latestEnd(under: lifetimes), limit <= now { return true }
        guard state == .active, let idle = lifetimes.idle else { return false }
        return lastSeen + idle <= now
    }

    /// Whether its own `expiresAt` has passed, which its board knows of as well.
    package func hasReachedOwnEnd(at now: Timestamp) -> Bool {
        session.expiresAt.map { $0 <= now } ?? false
    }

    /// The latest that `expiresAt` may be: the limit that it was made under or the present
    /// one, if that is stricter; nil is no limit.
    package func latestEnd(under lifetimes: LifetimePolicy) -> Timestamp? {
        let present = lifetimes.absolute.map { session.createdAt + $0 }
        return [absoluteLimit, present].compactMap { $0 }.min()
    }

    /// The earliest of what will end it for certain; nil if nothing will.
    package func certainEnd(under lifetimes: LifetimePolicy) -> Timestamp? {
        [session.expiresAt, latestEnd(under: lifetimes)].compactMap { $0 }.min()
    }
}

/// How long a board whose session ended may still come to hear and answer of it.
package struct Farewell: Equatable, Sendable {
    /// The sealed `session.revoked`; nil where the board itself asked for the end.
    package var payload: [UInt8]?
    /// Then its login is taken away, answered or not.
    package var until: Timestamp

    package init(payload: [UInt8]?, until: Timestamp) {
        self.payload = payload
        self.until = until
    }
}

/// A scope as JSON text, judged before it was stored.
package struct ScopeText: Equatable, Sendable {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// Which line of refresh tokens: 16 bytes, the time of its making and 10 random ones.
package struct RefreshFamilyID: Hashable, Sendable {
    package let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// `random` has `randomCount` bytes.
    init?(madeAt time: Timestamp, random: [UInt8]) {
        self.init(time.shortBytes + random)
    }

    static let randomCount = 10

    /// When it was made, also where the store knows nothing of it. Of a family that was made
    /// before ids had this form it is any time within 8,900 years.
    var madeAt: Timestamp { Timestamp(shortBytes: bytes[..<Timestamp.shortCount]) }
}

/// How far a line of refresh tokens has come. The tokens are recomputed, never stored.
package struct RefreshFamily: Equatable, Sendable {
    package let id: RefreshFamilyID
    package let session: ObjectID
    /// The generation that may be spent; those below are spent.
    package var generation: UInt64
    /// The request that spent `generation - 1`, and when; nil for a new family.
    package var lastRequest: MessageID?
    package var lastUse: Timestamp?
    /// A spent token came back, or the session ended: nothing of this line is good any more.
    package var invalidated: Bool

    package init(
        id: RefreshFamilyID, session: ObjectID, generation: UInt64, lastRequest: MessageID? = nil,
        lastUse: Timestamp? = nil, invalidated: Bool = false
    ) {
        self.id = id
        self.session = session
        self.generation = generation
        self.lastRequest = lastRequest
        self.lastUse = lastUse
        self.invalidated = invalidated
    }
}
