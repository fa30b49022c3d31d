package import Sessions

/// A session with all data that the authority keeps for it. It contains no token.
package struct SessionRecord: Sendable {
    package enum State: String, Sendable {
        /// Sent to the board, which has not accepted it yet.
        case pending
        case active
        /// Ended, because of `endReason`.
        case ended
    }

    package var session: Session
    package var state: State
    /// Why the session ended, for the audit log and the board.
    package var endReason: String?
    /// HMAC of the session token. The token itself is not stored.
    package var tokenHash: [UInt8]
    /// Nil for a person's own session.
    package var family: RefreshFamilyID?
    /// The public key of the session's board, 32 bytes. Nil if the session lives on no board.
    package var deviceKey: [UInt8]?
    package var scope: ScopeText?
    /// Set while the board has not confirmed a changed scope.
    package var scopeNotice: ScopeNotice?
    /// The latest possible `expiresAt`. Nil: no limit.
    package var absoluteLimit: Timestamp?
    /// The time of the last authenticated request.
    package var lastSeen: Timestamp
    /// When its user last confirmed who they are. Nil: never since the login.
    package var confirmedAt: Timestamp?
    /// Set if the session has ended and its board has not confirmed the end yet.
    package var endNotice: EndNotice?

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

    /// The board that the session lives on. Nil for any other session, even if it names an
    /// installation.
    package var board: InstallationID? { deviceKey == nil ? nil : session.installationID }

    /// Whether requests may still use the session.
    package func isLive(at now: Timestamp, under lifetimes: LifetimePolicy) -> Bool {
        guard state != .ended else { return false }
        return !hasExpired(at: now, under: lifetimes)
    }

    /// Whether a limit has passed: its own end, the absolute limit, or the idle limit once it is
    /// active.
    package func hasExpired(at now: Timestamp, under lifetimes: LifetimePolicy) -> Bool {
        if hasReachedOwnEnd(at: now) { return true }
        if let limit = latestEnd(under: lifetimes), limit <= now { return true }
        guard state == .active, let idle = lifetimes.idle else { return false }
        return lastSeen + idle <= now
    }

    /// Whether its own `expiresAt` has passed. Its board knows this time, too.
    package func hasReachedOwnEnd(at now: Timestamp) -> Bool {
        session.expiresAt.map { $0 <= now } ?? false
    }

    /// The latest possible `expiresAt`: the earlier of the limit when the session was created and
    /// the present limit. Nil: no limit.
    package func latestEnd(under lifetimes: LifetimePolicy) -> Timestamp? {
        let present = lifetimes.absolute.map { session.createdAt + $0 }
        return [absoluteLimit, present].compactMap { $0 }.min()
    }

    /// The time when the session ends for certain, unless it is extended. Nil: none.
    package func certainEnd(under lifetimes: LifetimePolicy) -> Timestamp? {
        [session.expiresAt, latestEnd(under: lifetimes)].compactMap { $0 }.min()
    }

    /// Whether the session expired and its board keeps a login that hears its inbox. Then the
    /// authority can give the board a new session from afar.
    package var isRenewable: Bool {
        state == .ended && endReason == UnavailableReason.expired.rawValue && endNotice != nil
    }

    /// When the session ends by itself, and why. Nil: it has no known end, or has ended.
    package func outlook(under lifetimes: LifetimePolicy) -> SessionOutlook? {
        guard state != .ended else { return nil }
        return SessionOutlook(
            of: session, lastHeard: lastSeen, limit: latestEnd(under: lifetimes),
            idle: state == .active ? lifetimes.idle : nil)
    }
}

/// How long a board may still log in to learn that its session ended, and to confirm it.
package struct EndNotice: Equatable, Sendable {
    /// The sealed `session.revoked`. Nil if the board itself ended the session.
    package var payload: [UInt8]?
    /// At this time the board loses its login, even without a confirmation.
    package var until: Timestamp

    package init(payload: [UInt8]?, until: Timestamp) {
        self.payload = payload
        self.until = until
    }

    /// For an expired session: the board keeps its login until it is renewed, claimed or released.
    package static func lasting(_ payload: [UInt8]?) -> Self {
        Self(payload: payload, until: Timestamp(milliseconds: .max))
    }
}

/// The sealed `session.updated` that brings a changed scope to the board, and its id.
package struct ScopeNotice: Equatable, Sendable {
    package let id: MessageID
    package let payload: [UInt8]

    package init(id: MessageID, payload: [UInt8]) {
        self.id = id
        self.payload = payload
    }
}

/// A scope as JSON text. It was checked before it was stored.
package struct ScopeText: Equatable, Sendable {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// The id of a family of refresh tokens: 16 bytes, its creation time and 10 random bytes.
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

    /// The creation time, known even if the store does not know the family.
    var madeAt: Timestamp { Timestamp(shortBytes: bytes[..<Timestamp.shortCount]) }
}

/// The state of a family of refresh tokens. The tokens are computed again when needed, never
/// stored.
package struct RefreshFamily: Equatable, Sendable {
    package let id: RefreshFamilyID
    package let session: ObjectID
    /// The generation of the valid token. All lower generations are used.
    package var generation: UInt64
    /// The request that used generation `generation - 1`, and when. Nil for a new family.
    package var lastRequest: MessageID?
    package var lastUse: Timestamp?
    /// A used token came back, or the session ended. No token of this family is valid any more.
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
