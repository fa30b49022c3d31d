package import Gate
package import Sessions

/// What the owner of a board gives to another person.
package enum ShareRight: String, Sendable, CaseIterable {
    /// To see the state and the readings.
    case see
    /// Also to rename the board, and to extend, limit and end its session.
    case manage
}

/// The terms of an invitation and of the share that it becomes.
package struct ShareTerms: Equatable, Sendable {
    package let right: ShareRight
    /// The classes whose readings may be seen. Nil: all.
    package let classes: [ClassName]?
    /// From this time on it gives nothing. Nil: no end.
    package let until: Timestamp?

    package init(right: ShareRight, classes: [ClassName]? = nil, until: Timestamp? = nil) {
        self.right = right
        self.classes = classes
        self.until = until
    }

    package func hasEnded(at now: Timestamp) -> Bool { until.map { $0 <= now } ?? false }

    package func shows(_ className: ClassName) -> Bool { classes?.contains(className) ?? true }

    /// For the audit log.
    var words: String {
        var words = right.rawValue
        if let classes { words += ", " + classes.map(\.description).joined(separator: " ") }
        if let until { words += ", until \(until.seconds)" }
        return words
    }
}

/// A person's share of somebody else's board.
package struct ShareRecord: Equatable, Sendable {
    package let id: ObjectID
    package let board: InstallationID
    package let user: UserID
    /// The owner who gave it. It is void if the board has another owner.
    package let owner: UserID
    package let terms: ShareTerms
    package let createdAt: Timestamp

    package init(
        id: ObjectID, board: InstallationID, user: UserID, owner: UserID, terms: ShareTerms,
        createdAt: Timestamp
    ) {
        self.id = id
        self.board = board
        self.user = user
        self.owner = owner
        self.terms = terms
        self.createdAt = createdAt
    }

    func moved(to board: InstallationID) -> Self {
        Self(
            id: id, board: board, user: user, owner: owner, terms: terms, createdAt: createdAt)
    }
}

/// An invitation that nobody has accepted yet.
package struct InvitationRecord: Sendable {
    package let id: ObjectID
    /// HMAC of the secret in the link.
    package let hash: [UInt8]
    package let board: InstallationID
    package let owner: UserID
    package let terms: ShareTerms
    package let createdAt: Timestamp
    package let expiresAt: Timestamp

    package init(
        id: ObjectID, hash: [UInt8], board: InstallationID, owner: UserID, terms: ShareTerms,
        createdAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.hash = hash
        self.board = board
        self.owner = owner
        self.terms = terms
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }

    func isOpen(at now: Timestamp) -> Bool { expiresAt > now && !terms.hasEnded(at: now) }
}

package enum ShareLimit {
    /// Shares and open invitations of one board.
    package static let ofBoard = 32
    /// Boards of others that one person may have.
    package static let ofUser = 64
    package static let classes = 20
    /// How long a link serves.
    package static let invitation = Duration.seconds(7 * 86_400)
    /// The latest end, from now.
    package static let life = Duration.seconds(10 * 366 * 86_400)
    /// Wrong links of one user, and from one address, within `LoginLimit.window`.
    static let triesOfUser = 10
    static let triesOfAddress = 30
}

package protocol ShareTable {
    /// Also a share that has ended: `BoardRight` decides.
    func share(
        of board: InstallationID, with user: UserID
    ) throws(AuthorityError) -> ShareRecord?
    /// The oldest first.
    func shares(of board: InstallationID) throws(AuthorityError) -> [ShareRecord]
    func shares(with user: UserID) throws(AuthorityError) -> [ShareRecord]
    /// Shares whose `until` is not later than `time`; at most `limit`.
    func shares(endedBy time: Timestamp, limit: Int) throws(AuthorityError) -> [ShareRecord]
    /// Replaces the share that this person had of this board.
    func save(_ share: ShareRecord) throws(AuthorityError)
    /// Returns false if there was none.
    func deleteShare(_ id: ObjectID) throws(AuthorityError) -> Bool

    func invitation(hash: [UInt8]) throws(AuthorityError) -> InvitationRecord?
    /// The oldest first.
    func invitations(to board: InstallationID) throws(AuthorityError) -> [InvitationRecord]
    func insert(_ invitation: InvitationRecord) throws(AuthorityError)
    /// Returns false if there was none: of two uses at once, one wins.
    func deleteInvitation(_ id: ObjectID) throws(AuthorityError) -> Bool
    func moveInvitations(
        from board: InstallationID, to successor: InstallationID
    ) throws(AuthorityError)
    /// Deletes at most `limit` and returns how many.
    func deleteInvitations(expiredBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
}
