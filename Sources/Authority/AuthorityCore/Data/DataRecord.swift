package import Gate
package import Sessions
package import Wire

/// A data message of a board, as the authority keeps it.
///
/// Source: the wire contract, Data topics and properties.
package struct DataRecord: Equatable, Sendable {
    package let board: InstallationID
    /// Unique within the board: `seq`.
    package let sequence: Int64
    package let path: RecordPath
    /// The app that wrote it, or the app of its route.
    package let app: AppName
    /// When the board accepted it: `ts`.
    package let writtenAt: Timestamp
    /// When the authority received it. It is later than `writtenAt` if the record waited on the
    /// board.
    package let receivedAt: Timestamp
    /// The app's bytes, unchanged.
    package let payload: [UInt8]

    package init(
        board: InstallationID, sequence: Int64, path: RecordPath, app: AppName,
        writtenAt: Timestamp, receivedAt: Timestamp, payload: [UInt8]
    ) {
        (self.board, self.sequence, self.path, self.app) = (board, sequence, path, app)
        (self.writtenAt, self.receivedAt, self.payload) = (writtenAt, receivedAt, payload)
    }

    /// A record that came this long after it was written waited on the board.
    package static let lateAfter = Duration.seconds(60)

    /// Whether the record waited on the board.
    package var isLate: Bool { receivedAt - writtenAt > Self.lateAfter }
}

/// A record with the user who owned its board when the record was written. Only this user may read
/// it, also after the board has another owner.
package struct OwnedRecord: Equatable, Sendable {
    package let owner: UserID
    package let record: DataRecord
    /// Since when the owner has the board. Of a former owner: when the session was made.
    package let since: Timestamp
    /// Whether the owner released the board since. Then the record updates and deletes no object:
    /// somebody else may have the board, and an object may be of another board of the owner.
    package let isOfFormerOwner: Bool

    package init(
        owner: UserID, record: DataRecord, since: Timestamp, isOfFormerOwner: Bool = false
    ) {
        (self.owner, self.record, self.since) = (owner, record, since)
        self.isOfFormerOwner = isOfFormerOwner
    }
}
