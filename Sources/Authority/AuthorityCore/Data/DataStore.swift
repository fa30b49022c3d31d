package import Gate
package import Sessions

/// The records that boards sent, bounded by age and size. It is separate from the store of
/// sessions: if it is full, slow or away, no session suffers.
///
/// Every read names the owner. A record of another owner is not found.
package protocol DataStore: Sendable {
    /// Stores the records in one commit. They are durable when it returns. A record whose board and
    /// sequence were ever stored is counted and not stored again, also after its deletion.
    ///
    /// A record that claims to be written more than a day after it was received is stored as
    /// written when it was received. So it ages as others do, and hides no later write.
    func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount

    /// Records in order of `writtenAt`, then board, then sequence.
    func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord]

    /// Objects of one class. See `ObjectQuery`.
    func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage

    /// The numbers of one field of one board, a bucket for each step of time that has any.
    func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket]

    /// The fields that a board has sent, each with its newest value, the newest first; at most
    /// `limit`.
    func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue]

    /// The boards of which this owner has records, in the order of their ids; at most
    /// `keptBoardLimit`.
    func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID]

    /// Notes the release, and deletes the records of the board that its owner has, in several
    /// steps. If it fails, some may be left: call it again.
    func delete(_ release: DataRelease) async throws(AuthorityError)

    /// The releases until `time` that were not settled, the oldest first; at most 100.
    func openReleases(until time: Timestamp) async throws(AuthorityError) -> [DataRelease]

    /// Call it after `DataRelease.settledAfter`. If the owner still has the board, its records are
    /// kept again.
    func settle(_ release: DataRelease, ownerHasBoard: Bool) async throws(AuthorityError)

    /// Deletes the oldest records beyond the bounds. Call it often; one call does a bounded amount
    /// of work and returns whether more is left.
    func trim(_ bounds: DataBounds, now: Timestamp) async throws(AuthorityError) -> TrimCount

    func usage() async throws(AuthorityError) -> DataUsage

    func close() async throws(AuthorityError)
}

/// The most boards of `DataStore.boards`.
package let keptBoardLimit = 20_000

extension DataStore {
    /// At most `NewestValue.limit` of them.
    package func newest(
        of board: InstallationID, owner: UserID
    ) async throws(AuthorityError) -> [NewestValue] {
        try await newest(of: board, owner: owner, limit: NewestValue.limit)
    }

    /// Nil if the object does not exist, or was deleted.
    package func object(
        _ id: RecordID, of className: ClassName, owner: UserID
    ) async throws(AuthorityError) -> DataObject? {
        var query = ObjectQuery(owner: owner, className: className)
        query.ids = [id]
        return try await objects(query).objects.first
    }
}

/// `[data] keep` and `max_bytes`.
package struct DataBounds: Equatable, Sendable {
    /// Zero keeps nothing.
    package let keep: Duration
    package let maxBytes: Int64

    package init(keep: Duration, maxBytes: Int64) {
        (self.keep, self.maxBytes) = (keep, maxBytes)
    }
}

package struct KeepCount: Equatable, Sendable {
    package var stored = 0
    /// Records that were stored before.
    package var repeated = 0
    /// Records that were not stored, because their board has `classLimit` other classes.
    package var crowded = 0
    /// Records that were not stored, because of a `DataRelease`.
    package var released = 0

    /// The most classes of one board. Each costs something in every read.
    package static let classLimit = 256

    package init(stored: Int = 0, repeated: Int = 0, crowded: Int = 0, released: Int = 0) {
        (self.stored, self.repeated) = (stored, repeated)
        (self.crowded, self.released) = (crowded, released)
    }
}

package struct TrimCount: Equatable, Sendable {
    /// Records that were older than `keep`.
    package var old = 0
    /// Records that were deleted because the store was larger than `maxBytes`.
    package var oversize = 0
    package var isMore = false

    package init(old: Int = 0, oversize: Int = 0, isMore: Bool = false) {
        (self.old, self.oversize, self.isMore) = (old, oversize, isMore)
    }
}

package struct DataUsage: Equatable, Sendable {
    package let records: Int64
    /// The size that `max_bytes` bounds.
    package let bytes: Int64
    /// The size on disk, with indexes and with room that deleted records left.
    package let disk: Int64
    package let oldest: Timestamp?

    package init(records: Int64, bytes: Int64, disk: Int64? = nil, oldest: Timestamp?) {
        (self.records, self.bytes, self.oldest) = (records, bytes, oldest)
        self.disk = disk ?? bytes
    }
}
