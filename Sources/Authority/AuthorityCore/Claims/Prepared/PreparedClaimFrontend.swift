package import Sessions
package import Wire

/// Prepares claims for boards that are not known yet, and accepts the boards. Unrestricted sessions
/// of users who may claim.
package protocol PreparedClaimFrontend: Sendable {
    /// Prepares claims. Only the result has their files. 140 beyond `PreparedClaimLimit.ofUser`.
    func prepareClaims(
        _ order: PreparedClaimOrder, by caller: Caller
    ) async throws(AuthorityError) -> [NewPreparedClaim]
    /// The caller's own, or everybody's for an administrator, without those that were ended. Those
    /// whose boards ask to join come first. At most 1000.
    func preparedClaims(by caller: Caller) async throws(AuthorityError) -> [PreparedClaimView]
    /// Claims the board that asks to join, for the user who prepared the claim. The caller's own,
    /// or any for an administrator; otherwise 101. `endPreparedClaim` has the same rule.
    func acceptPreparedClaim(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Claim
    /// Ends a prepared claim: its file is void, and so is a claim that waits for the board. A board
    /// that has its session keeps it. Returns the same as `revoke`.
    @discardableResult
    func endPreparedClaim(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Bool
}

/// An order for prepared claims that differ in name only.
package struct PreparedClaimOrder: Sendable {
    package let count: Int
    package let name: PreparedName
    package let scope: ScopeDocument?
    /// How long the boards' sessions last. Nil: the authority's own limit.
    package let duration: Duration?
    /// How long the files serve.
    package let life: Duration
    package let acceptsAtOnce: Bool
    package let labels: Set<BoardLabel>
    /// Nil: the address that the authority gives to boards and programs, and its CA.
    package let broker: BrokerURI?
    /// The broker's CA, PEM.
    package let ca: String?

    package init(
        count: Int = 1, name: PreparedName = .usual, scope: ScopeDocument? = nil,
        duration: Duration? = nil, life: Duration = PreparedClaimLimit.usualLife,
        acceptsAtOnce: Bool = false, labels: Set<BoardLabel> = [], broker: BrokerURI? = nil,
        ca: String? = nil
    ) {
        self.count = count
        self.name = name
        self.scope = scope
        self.duration = duration
        self.life = life
        self.acceptsAtOnce = acceptsAtOnce
        self.labels = labels
        self.broker = broker
        self.ca = ca
    }
}

/// A board's name with at most one `{n}`, in whose place each board's number comes.
package struct PreparedName: Equatable, Sendable, CustomStringConvertible {
    package static let usual = Self(before: "board-", after: "", isNumbered: true)
    private static let place = "{n}"

    private let before: String
    private let after: String
    package let isNumbered: Bool

    private init(before: String, after: String, isNumbered: Bool) {
        self.before = before
        self.after = after
        self.isNumbered = isNumbered
    }

    /// Nil for a text that gives no name for a board, or has `{n}` twice.
    package init?(_ text: String) {
        let parts = text.split(separator: Self.place, omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count) else { return nil }
        self.init(
            before: String(parts[0]), after: parts.count == 2 ? String(parts[1]) : "",
            isNumbered: parts.count == 2)
        let longest = name(of: PreparedClaimLimit.ofRequest)
        guard BoardName(longest) != nil, longest.contains(where: { !$0.isWhitespace }) else {
            return nil
        }
    }

    package var description: String { isNumbered ? before + Self.place + after : before }

    package func name(of number: Int) -> String {
        isNumbered ? "\(before)\(number)\(after)" : before
    }
}

/// A prepared claim as people see it.
package struct PreparedClaimView: Equatable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        case prepared, asking, accepted, ended
        /// Its time passed before a board was accepted.
        case expired
    }

    /// The board that asks to join, or was accepted.
    package struct Board: Equatable, Sendable {
        package let installation: InstallationID
        /// As the board itself has it.
        package let name: String
        package let fingerprint: BoardFingerprint
        package let askedAt: Timestamp
        /// Whether it asks although the authority knows it, or it has an open claim.
        package let isKnown: Bool

        package init(
            installation: InstallationID, name: String, fingerprint: BoardFingerprint,
            askedAt: Timestamp, isKnown: Bool = false
        ) {
            self.installation = installation
            self.name = name
            self.fingerprint = fingerprint
            self.askedAt = askedAt
            self.isKnown = isKnown
        }
    }

    package let id: InstallationID
    package let name: String
    /// The user name of the person who prepared it.
    package let owner: String
    package let state: State
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package let acceptsAtOnce: Bool
    package let labels: [BoardLabel]
    package let board: Board?
    /// When another board came with the same file.
    package let secondAt: Timestamp?

    package init(
        id: InstallationID, name: String, owner: String, state: State, createdAt: Timestamp,
        expiresAt: Timestamp, acceptsAtOnce: Bool = false, labels: [BoardLabel] = [],
        board: Board? = nil, secondAt: Timestamp? = nil
    ) {
        self.id = id
        self.name = name
        self.owner = owner
        self.state = state
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.acceptsAtOnce = acceptsAtOnce
        self.labels = labels
        self.board = board
        self.secondAt = secondAt
    }
}

/// A prepared claim with its file, which is secret.
package struct NewPreparedClaim: Sendable {
    package let claim: PreparedClaimView
    package let file: PreparedClaimFile

    package init(claim: PreparedClaimView, file: PreparedClaimFile) {
        self.claim = claim
        self.file = file
    }
}
