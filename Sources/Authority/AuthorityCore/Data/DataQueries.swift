package import Gate
package import Sessions

/// A read of the records of one owner, in order. To read on, pass the last record as `after`.
package struct RecordQuery: Sendable {
    package let owner: UserID
    /// Nil reads every board of the owner.
    package var board: InstallationID?
    package var className: ClassName?
    /// Only these classes, if `className` is nil. Nil: every class.
    package var classes: [ClassName]?
    /// From this time on.
    package var since: Timestamp?
    /// Before this time.
    package var until: Timestamp?
    package var after: RecordPosition?
    package var limit: Int
    /// The newest first.
    package var isDescending = false

    package init(owner: UserID, limit: Int) { (self.owner, self.limit) = (owner, limit) }

    /// The one class, or the classes with a space around each, as a store searches them.
    package var classText: String? {
        className?.description
            ?? classes.map { " \($0.map(\.description).joined(separator: " ")) " }
    }
}

/// The place of a record in the order of `DataStore.records`.
package struct RecordPosition: Equatable, Sendable {
    package let writtenAt: Timestamp
    package let board: InstallationID
    package let sequence: Int64

    package init(writtenAt: Timestamp, board: InstallationID, sequence: Int64) {
        (self.writtenAt, self.board, self.sequence) = (writtenAt, board, sequence)
    }

    package init(_ record: DataRecord) {
        self.init(writtenAt: record.writtenAt, board: record.board, sequence: record.sequence)
    }
}

/// A read of the objects of one class and owner.
///
/// The store cuts by owner, class, board and time, with an index. It reads the rest in order of
/// `updatedAt` or `createdAt` and asks `matches` for each. It examines at most `examined` objects.
package struct ObjectQuery: Sendable {
    package enum Order: Sendable { case createdAt, updatedAt }

    package let owner: UserID
    package let className: ClassName
    /// Only these objects. The store finds each by its id. Nil: all objects.
    package var ids: Set<RecordID>?
    package var board: InstallationID?
    /// Leaves out objects that another board of the owner also wrote.
    package var ofOneBoard = false
    /// Each bound includes its time.
    package var createdAt: ClosedRange<Timestamp>?
    package var updatedAt: ClosedRange<Timestamp>?
    package var order = Order.createdAt
    package var isDescending = false
    package var skip = 0
    package var limit = 100
    /// Whether to count all objects that match.
    package var counts = false
    package var examined = 100_000
    /// Nil: every object matches, so that the store can skip and count without reading payloads.
    package var matches: (@Sendable (DataObject) -> Bool)?

    package init(owner: UserID, className: ClassName) {
        (self.owner, self.className) = (owner, className)
    }
}

package struct ObjectPage: Sendable {
    package let objects: [DataObject]
    /// How many objects match, if the query counts.
    package let count: Int?
    /// Whether the store stopped at `examined`. Then the answer is not complete.
    package let isPartial: Bool

    package init(objects: [DataObject], count: Int?, isPartial: Bool) {
        (self.objects, self.count, self.isPartial) = (objects, count, isPartial)
    }
}

/// A read of the numbers of one field, downsampled in the store.
package struct SeriesQuery: Sendable {
    package let owner: UserID
    package var board: InstallationID
    package let className: ClassName
    /// The object that updates name; nil for creates.
    package var record: RecordID?
    /// As in `Reading.values`: `celsius`, `room.celsius`, or `value` for a bare number.
    package let field: String
    package var since: Timestamp
    package var until: Timestamp
    /// The width of a bucket. Buckets start at multiples of it since the epoch. The store has sums
    /// of whole minutes, so a long range begins and ends with one. At most 20,000 buckets.
    package var step: Duration

    package init(
        owner: UserID, board: InstallationID, className: ClassName, record: RecordID? = nil,
        field: String, since: Timestamp, until: Timestamp, step: Duration
    ) {
        (self.owner, self.board, self.className) = (owner, board, className)
        (self.record, self.field) = (record, field)
        (self.since, self.until, self.step) = (since, until, step)
    }
}

package struct SeriesBucket: Equatable, Sendable {
    package let start: Timestamp
    package var least: Double
    package var greatest: Double
    package var sum: Double
    package var count: Int
    /// Whether a record of the bucket waited on the board.
    package var isLate: Bool

    package init(
        start: Timestamp, least: Double, greatest: Double, sum: Double, count: Int, isLate: Bool
    ) {
        (self.start, self.least, self.greatest) = (start, least, greatest)
        (self.sum, self.count, self.isLate) = (sum, count, isLate)
    }

    package var mean: Double { sum / Double(count) }
}

/// The newest value of one field.
package struct NewestValue: Equatable, Sendable {
    package enum Value: Equatable, Sendable {
        case number(Double)
        case text(String)
    }

    /// The most values of `DataStore.newest` for one board.
    package static let limit = 1000

    package let className: ClassName
    package let record: RecordID?
    package let field: String
    package let value: Value
    package let writtenAt: Timestamp
    package let receivedAt: Timestamp

    package init(
        className: ClassName, record: RecordID?, field: String, value: Value,
        writtenAt: Timestamp, receivedAt: Timestamp
    ) {
        (self.className, self.record, self.field) = (className, record, field)
        (self.value, self.writtenAt, self.receivedAt) = (value, writtenAt, receivedAt)
    }
}
