package import Sessions

/// A board whose place another board took. Its key and its id can never be used again.
package struct ReplacedBoard: Equatable, Sendable {
    package let installation: InstallationID
    /// The board that has its place now.
    package let successor: InstallationID
    /// The raw X25519 public key of the replaced board, 32 bytes.
    package let deviceKey: [UInt8]
    package let replacedAt: Timestamp
    package let lost: LostMessages

    package init(
        installation: InstallationID, successor: InstallationID, deviceKey: [UInt8],
        replacedAt: Timestamp, lost: LostMessages
    ) {
        (self.installation, self.successor) = (installation, successor)
        (self.deviceKey, self.replacedAt, self.lost) = (deviceKey, replacedAt, lost)
    }
}

/// What a replaced board had accepted and will never send.
package struct LostMessages: Equatable, Sendable {
    /// How many waited at its last report. Nil if it never reported. It may have sent them since,
    /// or accepted more.
    package let waited: Int64?
    /// The number of the last record that arrived. Nil if none is kept.
    package let after: Int64?

    package init(waited: Int64?, after: Int64?) { (self.waited, self.after) = (waited, after) }

    /// For the timeline.
    var words: String {
        let waiting = waited.map { "\($0) waited at its last report" }
        let arrived = after.map { "numbers after \($0) did not arrive" }
        let words = [arrived, waiting].compactMap(\.self).joined(separator: "; ")
        return words.isEmpty ? "it sent nothing that is kept" : words
    }
}

package protocol ReplacementTable {
    func replacement(of board: InstallationID) throws(AuthorityError) -> ReplacedBoard?
    /// Whether a replaced board had this key.
    func isReplaced(deviceKey: [UInt8]) throws(AuthorityError) -> Bool
    /// The boards of its owner whose place this board has, the oldest first.
    func replaced(by board: InstallationID) throws(AuthorityError) -> [ReplacedBoard]
    /// The boards that the replaced board had replaced get the same successor.
    func insert(_ replaced: ReplacedBoard) throws(AuthorityError)
    /// Gives the events of one board to another one.
    func moveTimeline(
        from board: InstallationID, to successor: InstallationID
    ) throws(AuthorityError)
}
