package import Sessions
import Wire

/// A board whose place another board took. Its key and its id can never be used again.
package struct ReplacedBoard: Equatable, Sendable {
    package let installation: InstallationID
    /// The board that has its place now.
    package let successor: InstallationID
    /// The raw X25519 public key of the replaced board, 32 bytes.
    package let deviceKey: [UInt8]
    package let replacedAt: Timestamp
    package let lost: LostMessages?

    package init(
        installation: InstallationID, successor: InstallationID, deviceKey: [UInt8],
        replacedAt: Timestamp, lost: LostMessages?
    ) {
        (self.installation, self.successor) = (installation, successor)
        (self.deviceKey, self.replacedAt, self.lost) = (deviceKey, replacedAt, lost)
    }
}

/// The messages that waited on a replaced board when it last reported. It may have accepted more
/// since.
package struct LostMessages: Equatable, Sendable {
    package let count: Int64
    /// The number of the first one: it follows the last that arrived. Nil if none is kept.
    package let first: Int64?

    package init(count: Int64, first: Int64?) { (self.count, self.first) = (count, first) }

    /// Nil if the board reported that none waited.
    init?(_ report: BoardReport, lastArrived: Int64?) {
        guard report.queue.messages > 0 else { return nil }
        self.init(count: report.queue.messages, first: lastArrived.map { $0 &+ 1 })
    }

    /// The number of the last one.
    package var last: Int64? {
        first.flatMap { first in
            let (last, isTooLarge) = first.addingReportingOverflow(count - 1)
            return isTooLarge ? nil : last
        }
    }

    /// For the audit log and the timeline.
    var words: String {
        let words = count == 1 ? "1 message lost" : "\(count) messages lost"
        guard let first, let last else { return words }
        return words + (first == last ? ": number \(first)" : ": numbers \(first) to \(last)")
    }
}

package protocol ReplacementTable {
    func replacement(of board: InstallationID) throws(AuthorityError) -> ReplacedBoard?
    /// Whether a replaced board had this key.
    func isReplaced(deviceKey: [UInt8]) throws(AuthorityError) -> Bool
    /// The boards whose place this board has, the oldest first.
    func replaced(by board: InstallationID) throws(AuthorityError) -> [ReplacedBoard]
    /// The boards that the replaced board had replaced get the same successor.
    func insert(_ replaced: ReplacedBoard) throws(AuthorityError)
    /// Gives the events of one board to another one.
    func moveTimeline(
        from board: InstallationID, to successor: InstallationID
    ) throws(AuthorityError)
}
