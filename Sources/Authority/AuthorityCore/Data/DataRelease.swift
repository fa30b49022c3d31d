package import Sessions

/// A board that its owner releases, and whose records go.
///
/// A release deletes the records first, and releases the board afterwards, so that success means
/// that they are gone. Meanwhile a batch may hold records that found their owner before. So the
/// store notes the release in the first step of the deletion, and from then on keeps no record with
/// `OwnedRecord.since` up to `at`. Each batch reads the note in its own transaction.
package struct DataRelease: Hashable, Sendable {
    package let board: InstallationID
    package let owner: UserID
    package let at: Timestamp

    package init(board: InstallationID, owner: UserID, at: Timestamp) {
        (self.board, self.owner, self.at) = (board, owner, at)
    }

    /// After this time nothing of the release is under way. If the owner still has the board, the
    /// release failed in the middle, or the board came back: then the note goes.
    package static let settledAfter = Duration.seconds(3600)
    /// How long the note is kept: longer than records of its sessions may arrive.
    package static let memory = Duration.seconds(30 * 86_400)
}
