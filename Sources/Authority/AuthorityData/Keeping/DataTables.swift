import AuthorityCore
import Gate
import Sessions

/// The records of one class of one board and owner.
struct FeedKey: Hashable, Sendable {
    let owner: UserID
    let board: InstallationID
    let className: ClassName
}

/// What a record is to the objects of its class. An index holds it, so that a list of objects
/// reads no other records.
enum RecordKind: Int64, Sendable {
    /// The object is as this record made it.
    case object = 0
    /// A later write changed or deleted the object: see `ChangedObject`.
    case changedObject = 1
    case update = 2
    case delete = 3

    init(_ operation: Operation) {
        switch operation {
        case .create: self = .object
        case .update: self = .update
        case .delete: self = .delete
        }
    }

    var operation: Operation {
        switch self {
        case .object, .changedObject: .create
        case .update: .update
        case .delete: .delete
        }
    }
}

/// A field of a feed's creates, or of the updates of one object.
struct SeriesKey: Hashable, Sendable {
    let feed: Int64
    let record: RecordID?
    let field: String
}

/// The numbers of one series in one minute.
struct Rollup: Equatable, Sendable {
    var least: Double
    var greatest: Double
    var sum: Double
    var count: Int64
    var isLate: Bool

    init(_ value: Double, isLate: Bool) {
        (least, greatest, sum, count) = (value, value, value, 1)
        self.isLate = isLate
    }

    mutating func add(_ value: Double, isLate: Bool) {
        least = min(least, value)
        greatest = max(greatest, value)
        sum += value
        count += 1
        self.isLate = self.isLate || isLate
    }
}

struct RollupKey: Hashable, Sendable {
    let series: Int64
    let minute: Int64
}

struct NewestOfSeries: Sendable {
    let value: NewestValue.Value
    let writtenAt: Timestamp
    let receivedAt: Timestamp
}

struct ObjectKey: Hashable, Sendable {
    let owner: UserID
    let className: ClassName
    let id: RecordID
}

/// An object that was updated or deleted. It hides the record that created it.
struct ChangedObject: Equatable, Sendable {
    var board: InstallationID
    var app: AppName
    var createdAt: Timestamp
    var updatedAt: Timestamp
    var receivedAt: Timestamp
    /// Nil if the object was deleted.
    var members: [String: JSONValue]?
    /// Whether its id names a record that did not come yet.
    var awaitsCreation: Bool
    /// Whether several boards of the owner wrote it. Who may read one board does not see it.
    var isMixed = false
}

/// A new record with its place in the tables.
struct RecordRow: Sendable {
    let feed: Int64
    let kind: RecordKind
    let record: DataRecord
}

/// A board and one of its owners.
struct ReleaseKey: Hashable, Sendable {
    let owner: UserID
    let board: InstallationID
}

/// The tables of a store within one write transaction. Every call takes a whole batch.
protocol DataTables {
    /// The time of each noted release.
    func releases(_ keys: Set<ReleaseKey>) throws(AuthorityError) -> [ReleaseKey: Timestamp]
    /// The ids of the feeds. Makes the missing ones.
    func feeds(_ keys: Set<FeedKey>) throws(AuthorityError) -> [FeedKey: Int64]
    func seen(
        _ boards: Set<InstallationID>
    ) throws(AuthorityError) -> [InstallationID: SequenceRanges]
    func save(_ seen: [InstallationID: SequenceRanges]) throws(AuthorityError)
    func insert(_ rows: [RecordRow]) throws(AuthorityError)
    /// The ids of the series. Makes the missing ones, up to `SeriesRules.limit` in a feed.
    func series(_ keys: Set<SeriesKey>) throws(AuthorityError) -> [SeriesKey: Int64]
    func add(_ rollups: [RollupKey: Rollup]) throws(AuthorityError)
    /// Replaces the newest values that are not newer than these.
    func setNewest(_ values: [Int64: NewestOfSeries]) throws(AuthorityError)
    func changed(_ keys: Set<ObjectKey>) throws(AuthorityError) -> [ObjectKey: ChangedObject]
    /// Nil deletes the row.
    func save(_ objects: [ObjectKey: ChangedObject?]) throws(AuthorityError)
    /// Whether any changed object awaits its creation.
    func anyAwaitsCreation() throws(AuthorityError) -> Bool
    func creation(_ key: ObjectKey) throws(AuthorityError) -> DataRecord?
    func hideCreations(_ keys: Set<ObjectKey>) throws(AuthorityError)
}

enum SeriesRules {
    /// The most series of a feed. The fields of further ones are kept in their records only.
    static let limit = 4096
}
