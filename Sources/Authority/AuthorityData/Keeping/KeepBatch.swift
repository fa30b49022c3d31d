import AuthorityCore
import Gate
import Sessions
import Wire

/// One field of a record.
private struct FieldReading {
    let key: SeriesKey
    let value: NewestValue.Value
    let record: DataRecord
}

/// Keeps a batch of records with everything that is derived from them, within one transaction.
struct KeepBatch<Tables: DataTables> {
    let tables: Tables

    func run(_ records: [OwnedRecord]) throws(AuthorityError) -> KeepCount {
        let kept = try unreleased(records)
        let new = try unseen(kept)
        var count = KeepCount(
            repeated: kept.count - new.count, released: records.count - kept.count)
        guard !new.isEmpty else { return count }
        let feeds = try tables.feeds(Set(new.map(\.feed)))
        var rows: [RecordRow] = []
        rows.reserveCapacity(new.count)
        var stored: [OwnedRecord] = []
        for owned in new {
            guard let feed = feeds[owned.feed] else { continue }
            stored.append(owned)
            rows.append(RecordRow(
                feed: feed, kind: RecordKind(owned.record.path.operation), record: owned.record))
        }
        try tables.insert(rows)
        try rollUp(rows)
        try change(stored.filter(\.mayChangeObjects))
        (count.stored, count.crowded) = (stored.count, new.count - stored.count)
        return count
    }

    /// The records without those that a release deletes.
    private func unreleased(_ records: [OwnedRecord]) throws(AuthorityError) -> [OwnedRecord] {
        let releases = try tables.releases(Set(records.map(\.release)))
        guard !releases.isEmpty else { return records }
        return records.filter { owned in releases[owned.release].map { owned.since > $0 } ?? true }
    }

    private func unseen(_ records: [OwnedRecord]) throws(AuthorityError) -> [OwnedRecord] {
        var seen = try tables.seen(Set(records.map(\.record.board)))
        var changed: Set<InstallationID> = []
        let new = records.filter { owned in
            let board = owned.record.board
            guard seen[board, default: SequenceRanges()].insert(owned.record.sequence) else {
                return false
            }
            changed.insert(board)
            return true
        }
        try tables.save(seen.filter { changed.contains($0.key) })
        return new.map(\.placed)
    }

    private func rollUp(_ rows: [RecordRow]) throws(AuthorityError) {
        var readings: [FieldReading] = []
        for row in rows where row.kind != .delete {
            let fields = RecordFields(row.record.payload)
            func add(_ field: String, _ value: NewestValue.Value) {
                let key = SeriesKey(feed: row.feed, record: row.record.path.record, field: field)
                readings.append(FieldReading(key: key, value: value, record: row.record))
            }
            for (field, value) in fields.numbers { add(field, .number(value)) }
            for (field, value) in fields.texts { add(field, .text(value)) }
        }
        let series = try tables.series(Set(readings.map(\.key)))
        var rollups: [RollupKey: Rollup] = [:]
        var newest: [Int64: NewestOfSeries] = [:]
        for reading in readings {
            guard let id = series[reading.key] else { continue }
            let record = reading.record
            if case .number(let value) = reading.value {
                let key = RollupKey(series: id, minute: record.writtenAt.milliseconds / 60_000)
                if rollups[key]?.add(value, isLate: record.isLate) == nil {
                    rollups[key] = Rollup(value, isLate: record.isLate)
                }
            }
            if let known = newest[id], known.writtenAt > record.writtenAt { continue }
            newest[id] = NewestOfSeries(
                value: reading.value, writtenAt: record.writtenAt, receivedAt: record.receivedAt)
        }
        try tables.add(rollups)
        try tables.setNewest(newest)
    }
}

/// Updates and deletes. By `writtenAt`, the newer write wins: an older one changes no object.
extension KeepBatch {
    private func change(_ records: [OwnedRecord]) throws(AuthorityError) {
        let creates: [OwnedRecord] = try tables.anyAwaitsCreation()
            || records.contains { $0.record.path.record?.creation != nil } ? records : []
        let writes = creates.isEmpty
            ? records.filter { $0.record.path.operation != .create } : creates
        // Only so many objects are in memory at once, each up to `ObjectMembers.limit`.
        var rest = writes[...]
        while !rest.isEmpty {
            try change(rest.prefix(Self.objectsAtOnce))
            rest = rest.dropFirst(Self.objectsAtOnce)
        }
    }

    private static var objectsAtOnce: Int { 32 }

    private func change(_ writes: ArraySlice<OwnedRecord>) throws(AuthorityError) {
        var known = try tables.changed(Set(writes.compactMap(\.object)))
        var saved: [ObjectKey: ChangedObject?] = [:]
        var hidden: Set<ObjectKey> = []
        for owned in writes {
            guard let key = owned.object else { continue }
            let record = owned.record
            if record.path.operation == .create {
                guard var object = known[key], object.awaitsCreation else { continue }
                if record.writtenAt > object.updatedAt {
                    // The creation is the newest write.
                    known[key] = nil
                    saved[key] = .some(nil)
                    continue
                }
                object.wasCreated(by: record)
                (known[key], saved[key]) = (object, object)
                hidden.insert(key)
                continue
            }
            var base = known[key]
            if base == nil, let creation = try tables.creation(key) {
                base = ChangedObject(creation)
            }
            let object: ChangedObject
            if var existing = base {
                guard existing.apply(record) else { continue }
                object = existing
                if !object.awaitsCreation, key.id.creation != nil { hidden.insert(key) }
            } else {
                object = ChangedObject(first: record)
            }
            (known[key], saved[key]) = (object, object)
        }
        try tables.save(saved)
        try tables.hideCreations(hidden)
    }
}

extension OwnedRecord {
    fileprivate var feed: FeedKey {
        FeedKey(owner: owner, board: record.board, className: record.path.className)
    }

    fileprivate var release: ReleaseKey { ReleaseKey(owner: owner, board: record.board) }

    /// A creation changes no other object than its own.
    fileprivate var mayChangeObjects: Bool {
        !isOfFormerOwner || record.path.operation == .create
    }

    /// The object that it writes.
    fileprivate var object: ObjectKey? {
        let id = record.path.record
            ?? RecordID(created: record.board, sequence: record.sequence)
        return id.map { ObjectKey(owner: owner, className: record.path.className, id: $0) }
    }

    /// The record as the store keeps it: see `DataStore.keep`.
    fileprivate var placed: OwnedRecord {
        guard record.writtenAt - record.receivedAt > .seconds(86_400) else { return self }
        return OwnedRecord(owner: owner, record: DataRecord(
            board: record.board, sequence: record.sequence, path: record.path, app: record.app,
            writtenAt: record.receivedAt, receivedAt: record.receivedAt,
            payload: record.payload), since: since, isOfFormerOwner: isOfFormerOwner)
    }
}

extension ChangedObject {
    init(_ creation: DataRecord) {
        self.init(
            board: creation.board, app: creation.app, createdAt: creation.writtenAt,
            updatedAt: creation.writtenAt, receivedAt: creation.receivedAt,
            members: ObjectMembers.of(creation.payload), awaitsCreation: false)
    }

    /// An object that an update makes, or the mark of a deletion that came first.
    init(first write: DataRecord) {
        self.init(write)
        members = write.path.operation == .delete ? nil : [:]
        if members != nil { merge(write) }
        awaitsCreation = write.path.record?.creation != nil
    }

    /// Whether the write changed the object. An older one does not.
    mutating func apply(_ write: DataRecord) -> Bool {
        guard write.writtenAt >= updatedAt else { return false }
        if write.path.operation == .delete {
            members = nil
        } else {
            if members == nil {
                (members, createdAt, isMixed) = ([:], write.writtenAt, false)
                board = write.board
            }
            guard merge(write) else { return false }
            isMixed = isMixed || board != write.board
        }
        (board, app) = (write.board, write.app)
        (updatedAt, receivedAt) = (write.writtenAt, write.receivedAt)
        return true
    }

    @discardableResult
    private mutating func merge(_ write: DataRecord) -> Bool {
        var merged = members ?? [:]
        ObjectMembers.merge(ObjectMembers.of(write.payload), into: &merged)
        guard ObjectMembers.canBeKept(merged) else { return false }
        members = merged
        return true
    }

    /// The creation came after an update of the object.
    mutating func wasCreated(by creation: DataRecord) {
        awaitsCreation = false
        guard let changes = members else { return }
        createdAt = creation.writtenAt
        let merged = ObjectMembers.of(creation.payload).merging(changes) { _, change in change }
        guard ObjectMembers.canBeKept(merged) else { return }
        members = merged
        isMixed = isMixed || board != creation.board
    }
}
