package import Sessions

/// Shares boards with other people. Unrestricted sessions only.
package protocol ShareFrontend: Sendable {
    /// Invites somebody to one's own board. Only the result has the secret of the link. 140 if the
    /// board has `ShareLimit.ofBoard` shares and open invitations. `lasting` sets the end of the
    /// share by the authority's clock.
    func invite(
        to board: InstallationID, _ terms: ShareTerms, lasting: Duration?, by caller: Caller
    ) async throws(AuthorityError) -> NewInvitation
    /// The shares and open invitations of one's own board, or of any board for an administrator.
    func shares(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> BoardShares
    /// The present shares of the boards that others share with the caller, for queries over many
    /// boards. A restricted session has none.
    func sharedBoards(by caller: Caller) async throws(AuthorityError) -> [ShareRecord]
    /// Ends a share: as the owner, as an administrator, or as the person who has it.
    func endShare(
        _ id: ObjectID, of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError)
    /// Ends an open invitation: as the owner or as an administrator.
    func endInvitation(
        _ id: ObjectID, to board: InstallationID, by caller: Caller
    ) async throws(AuthorityError)
    /// What an invitation offers. 101 for every secret that does not serve; 155 for too many of
    /// them.
    func invitation(
        _ use: InvitationUse, by caller: Caller
    ) async throws(AuthorityError) -> InvitationView
    /// Accepts an invitation, which then serves no more. Replaces the share that the caller had of
    /// this board. The board's owner gets 119.
    func accept(
        _ use: InvitationUse, by caller: Caller
    ) async throws(AuthorityError) -> InvitationView
}

/// The secret of a link: 32 random bytes.
package struct InvitationSecret: Sendable {
    package let secret: SecretBytes
    static let randomCount = 32

    init(random: [UInt8]) { secret = SecretBytes(random) }

    /// Nil if the text cannot be a secret.
    package init?(_ text: String) {
        guard text.utf8.count <= 64, let bytes = Base64URL.decode(text),
            bytes.count == Self.randomCount
        else { return nil }
        secret = SecretBytes(bytes)
    }

    /// Only the owner who invites may see it.
    func reveal() -> String { Base64URL.encode(secret.reveal()) }
}

/// Somebody who shows the secret of a link.
package struct InvitationUse: Sendable {
    package let secret: InvitationSecret
    /// The peer's address, for the rate limit.
    package let origin: String

    package init(_ secret: InvitationSecret, origin: String) {
        self.secret = secret
        self.origin = origin
    }
}

package struct NewInvitation: Sendable {
    package let id: ObjectID
    /// Holds the secret. Only the caller gets it.
    package let url: String
    package let expiresAt: Timestamp

    package init(id: ObjectID, url: String, expiresAt: Timestamp) {
        self.id = id
        self.url = url
        self.expiresAt = expiresAt
    }
}

/// An invitation as the person sees it who has the link.
package struct InvitationView: Sendable {
    package let board: InstallationID
    package let boardName: String
    /// The user name of the board's owner.
    package let owner: String
    package let terms: ShareTerms
    /// What the person has now, and loses by accepting. Nil: nothing.
    package let present: ShareTerms?
    package let expiresAt: Timestamp

    package init(
        board: InstallationID, boardName: String, owner: String, terms: ShareTerms,
        present: ShareTerms? = nil, expiresAt: Timestamp
    ) {
        self.present = present
        self.board = board
        self.boardName = boardName
        self.owner = owner
        self.terms = terms
        self.expiresAt = expiresAt
    }
}

/// Who sees a board besides its owner.
package struct BoardShares: Sendable {
    package struct Entry: Sendable {
        package let share: ShareRecord
        package let username: String

        package init(share: ShareRecord, username: String) {
            self.share = share
            self.username = username
        }
    }

    package let shares: [Entry]
    package let invitations: [InvitationRecord]

    package init(shares: [Entry], invitations: [InvitationRecord]) {
        self.shares = shares
        self.invitations = invitations
    }
}
