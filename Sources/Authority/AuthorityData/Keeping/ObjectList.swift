import AuthorityCore
import Gate
import Sessions
import Wire

/// A place in a list of objects of one kind.
struct ObjectPlace: Equatable, Sendable {
    let time: Int64
    /// Tells creations of one time apart. Their meaning is the store's.
    var number: Int64 = 0
    var second: Int64 = 0
    /// Tells changed objects of one time apart.
    var id: String = ""
}

/// One object of a list; its content only if it was asked for.
struct ListedObject: Sendable {
    let place: ObjectPlace
    let object: DataObject?
    /// The size of its stored content; 0 without content.
    var bytes = 0
}

/// The two kinds of objects of a class, each in order, in one consistent view of the store.
protocol ObjectTables {
    /// Nil if the object does not exist, or was deleted.
    func object(_ id: RecordID) throws(AuthorityError) -> DataObject?
    /// Objects that are as their record made them, after `place`.
    func created(
        after place: ObjectPlace?, limit: Int, withContent: Bool
    ) throws(AuthorityError) -> [ListedObject]
    /// Objects that were changed, after `place`, and not those that were deleted.
    func changed(
        after place: ObjectPlace?, limit: Int
    ) throws(AuthorityError) -> [ListedObject]
    func count() throws(AuthorityError) -> Int
}

/// Merges the two kinds of objects into one list, and cuts the page out of it.
struct ObjectList<Tables: ObjectTables> {
    let query: ObjectQuery
    let tables: Tables

    /// How many objects are read at a time. One with content may have 256 KiB.
    private static func portion(withContent: Bool) -> Int { withContent ? 32 : 500 }
    /// A page with more content than this is partial.
    private static var pageBytes: Int { 8 << 20 }
    /// The most content that one query examines.
    private static var examinedBytes: Int { 128 << 20 }
    /// How long a query reads; then its page is partial. It holds one of few readers.
    static var timeLimit: Duration { .seconds(2) }
    /// Whether the time is up.
    var isOver: () -> Bool = Self.timer()

    private static func timer() -> () -> Bool {
        let end = ContinuousClock.now + timeLimit
        return { ContinuousClock.now >= end }
    }

    func page() throws(AuthorityError) -> ObjectPage {
        if let ids = query.ids { return try named(ids) }
        guard let matches = query.matches else { return try unfiltered() }
        var merge = Merge(query: query, tables: tables)
        var (examined, matching) = (0, 0)
        var (examinedBytes, pageBytes) = (0, 0)
        var objects: [DataObject] = []
        var isPartial = false
        while let listed = try merge.next(withContent: true), let next = listed.object {
            examined += 1
            examinedBytes += listed.bytes
            if matches(next) {
                if matching >= query.skip, objects.count < query.limit {
                    objects.append(next)
                    pageBytes += listed.bytes
                }
                matching += 1
            }
            if !query.counts, objects.count >= query.limit { break }
            guard examined < query.examined, examinedBytes < Self.examinedBytes,
                pageBytes < Self.pageBytes, !isOver()
            else {
                isPartial = try merge.next(withContent: false) != nil
                break
            }
        }
        return ObjectPage(
            objects: objects, count: query.counts ? matching : nil, isPartial: isPartial)
    }

    /// Finds each object by its id. All that match are in memory before the page is cut, so the
    /// limit of bytes holds for them.
    private func named(_ ids: Set<RecordID>) throws(AuthorityError) -> ObjectPage {
        var found: [DataObject] = []
        var bytes = 0
        var isPartial = false
        for id in ids {
            isPartial = bytes >= Self.pageBytes || isOver()
            if isPartial { break }
            guard let object = try tables.object(id), query.holds(object),
                query.matches?(object) ?? true
            else { continue }
            found.append(object)
            bytes += JSONValue.object(object.members).bytes.count
        }
        let page = query.sorted(found).dropFirst(query.skip).prefix(query.limit)
        return ObjectPage(
            objects: Array(page), count: query.counts ? found.count : nil, isPartial: isPartial)
    }

    /// Skips and counts without reading payloads.
    private func unfiltered() throws(AuthorityError) -> ObjectPage {
        var merge = Merge(query: query, tables: tables)
        var objects: [DataObject] = []
        var (skipped, bytes, examinedBytes) = (0, 0, 0)
        var isPartial = false
        while objects.count < query.limit {
            isPartial = bytes >= Self.pageBytes || examinedBytes >= Self.examinedBytes
                || isOver()
            guard !isPartial, let next = try merge.next(withContent: skipped >= query.skip)
            else { break }
            examinedBytes += next.bytes
            if skipped < query.skip { skipped += 1 } else if let object = next.object {
                objects.append(object)
                bytes += next.bytes
            }
        }
        if isPartial { isPartial = try merge.next(withContent: false) != nil }
        return ObjectPage(
            objects: objects, count: query.counts ? try tables.count() : nil,
            isPartial: isPartial)
    }

    /// The next object of both kinds, in order.
    private struct Merge {
        let query: ObjectQuery
        let tables: Tables
        private var created = Portion()
        private var changed = Portion()

        struct Portion {
            var objects: ArraySlice<ListedObject> = []
            var last: ObjectPlace?
            var isEnd = false
            var hasContent = false

            mutating func take() -> ListedObject? {
                let first = objects.popFirst()
                if let first { last = first.place }
                return first
            }
        }

        init(query: ObjectQuery, tables: Tables) { (self.query, self.tables) = (query, tables) }

        mutating func next(withContent: Bool) throws(AuthorityError) -> ListedObject? {
            // The objects that were read without content are read again.
            if withContent, !created.hasContent { created.objects = [] }
            if created.objects.isEmpty, !created.isEnd || withContent != created.hasContent {
                let portion = portion(withContent: withContent)
                created.objects = try tables.created(
                    after: created.last, limit: portion, withContent: withContent)[...]
                created.isEnd = created.objects.count < portion
                created.hasContent = withContent
            }
            if changed.objects.isEmpty, !changed.isEnd {
                let portion = portion(withContent: true)
                changed.objects = try tables.changed(after: changed.last, limit: portion)[...]
                changed.isEnd = changed.objects.count < portion
            }
            guard let first = created.objects.first else { return changed.take() }
            guard let second = changed.objects.first else { return created.take() }
            let isFirst = query.isDescending
                ? first.place.time >= second.place.time : first.place.time <= second.place.time
            return isFirst ? created.take() : changed.take()
        }
    }
}

extension ObjectQuery {
    /// Whether an object is within the bounds.
    fileprivate func holds(_ object: DataObject) -> Bool {
        (board ?? object.board) == object.board
            && createdAt?.contains(object.createdAt) ?? true
            && updatedAt?.contains(object.updatedAt) ?? true
    }

    /// In order of time, then of the id.
    fileprivate func sorted(_ objects: [DataObject]) -> [DataObject] {
        objects.sorted { one, other in
            let (first, second) = order == .createdAt
                ? (one.createdAt, other.createdAt) : (one.updatedAt, other.updatedAt)
            guard first == second else { return (first < second) != isDescending }
            return one.id.description < other.id.description
        }
    }

    /// The bounds of `createdAt` and `updatedAt` in milliseconds. What is left after `place` begins
    /// at its time, so an index finds it without reading what came before.
    func times(after place: ObjectPlace?) -> [ClosedRange<Int64>] {
        let all = Int64(0)...Int64.max
        var times = [createdAt, updatedAt].map { bounds in
            bounds.map { $0.lowerBound.milliseconds...$0.upperBound.milliseconds } ?? all
        }
        if let place {
            let rest = isDescending ? 0...max(place.time, 0) : max(place.time, 0)...Int64.max
            let index = order == .createdAt ? 0 : 1
            times[index] = rest.clamped(to: times[index])
        }
        return times
    }
}

extension DataObject {
    /// The object that a creation made and nothing changed.
    init?(_ record: DataRecord) {
        guard let id = RecordID(created: record.board, sequence: record.sequence) else {
            return nil
        }
        self.init(
            className: record.path.className, id: id, board: record.board, app: record.app,
            createdAt: record.writtenAt, updatedAt: record.writtenAt,
            receivedAt: record.receivedAt, members: ObjectMembers.of(record.payload))
    }

    /// Nil if the object was deleted.
    init?(_ id: RecordID, of className: ClassName, _ object: ChangedObject) {
        guard let members = object.members else { return nil }
        self.init(
            className: className, id: id, board: object.board, app: object.app,
            createdAt: object.createdAt, updatedAt: object.updatedAt,
            receivedAt: object.receivedAt, members: members)
    }
}
