import AuthorityCore
import Gate
import Sessions
import Testing

@Suite("The bounds of the records")
struct BoundsTests {
    private let month = DataBounds(keep: .seconds(30 * 86_400), maxBytes: .max)

    private func trim(
        _ store: OpenStore, _ bounds: DataBounds, now: Timestamp
    ) async throws -> TrimCount {
        var sum = TrimCount()
        repeat {
            let count = try await store.trim(bounds, now: now)
            (sum.old, sum.oversize, sum.isMore) = (
                sum.old + count.old, sum.oversize + count.oversize, count.isMore)
        } while sum.isMore
        return sum
    }

    @Test("delete what is too old, with all that was made of it", arguments: Stores.all)
    func age(stores: Stores) async throws {
        let store = try await stores.make()
        let day = Duration.seconds(86_400)
        _ = try await store.keep((0..<40).map { Given.record($0, at: day * Int($0)) })
        _ = try await store.keep([
            Given.record(100, #"{"lux":1}"#, at: day, board: Given.board(2), class: "Light"),
            Given.write(.update, "\(Given.id(1))", 101, #"{"x":1}"#, at: day * 35),
            Given.write(.update, "lamp", 102, at: day * 2),
        ])
        let now = Given.start + day * 40 - .seconds(1)
        let count = try await trim(store, month, now: now)
        #expect(count == TrimCount(old: 12))
        let records = try await store.records(RecordQuery(owner: Given.ann, limit: 100))
        #expect(records.map(\.sequence) == Array(10..<36) + [101] + Array(36..<40))
        let usage = try await store.usage()
        #expect((usage.records, usage.oldest) == (31, Given.start + day * 10))
        #expect(usage.bytes > 0 && usage.disk > 0)
        // The update kept the object that its creation made.
        let objects = try await store.objects(
            ObjectQuery(owner: Given.ann, className: Given.reading)).objects
        #expect(objects.count == 31)
        #expect(objects.first?.id == Given.id(1))
        #expect(try await store.newest(of: Given.board(2), owner: Given.ann).isEmpty)
        let series = try await store.series(SeriesQuery(
            owner: Given.ann, board: Given.board, className: Given.reading, field: "celsius",
            since: Given.start, until: now, step: day))
        #expect(series.count == 30)
        // Nothing of it is new again.
        #expect(try await store.keep([Given.record(3, at: day * 3)]) == KeepCount(repeated: 1))
        try await store.close()
    }

    @Test("of zero keep nothing", arguments: Stores.all)
    func zero(stores: Stores) async throws {
        let store = try await stores.make()
        let far = Given.record(1, at: .seconds(250_000_000_000), wait: .seconds(-250_000_000_000))
        _ = try await store.keep([
            far, Given.record(2), Given.record(3, at: .seconds(-1_800_000_000)),
            Given.write(.update, "lamp", 4),
        ])
        let count = try await trim(store, DataBounds(keep: .zero, maxBytes: .max), now: Given.start)
        #expect(count == TrimCount(old: 4))
        #expect(try await store.usage().records == 0)
        let query = ObjectQuery(owner: Given.ann, className: Given.reading)
        #expect(try await store.objects(query).objects.isEmpty)
        #expect(try await store.newest(of: Given.board, owner: Given.ann).isEmpty)
        try await store.close()
    }

    @Test("hold against records of any time", arguments: Stores.all)
    func wrongClock(stores: Stores) async throws {
        let store = try await stores.make()
        let far = Given.record(1, at: .seconds(250_000_000_000), wait: .seconds(-250_000_000_000))
        _ = try await store.keep([
            far, Given.record(2), Given.record(3, at: .seconds(-1_800_000_000)),
        ])
        _ = try await trim(store, month, now: Given.start + .seconds(86_400))
        var left = try await store.records(RecordQuery(owner: Given.ann, limit: 9))
        #expect(left.map(\.sequence) == [1, 2])
        // The one from the year 9999 is as old as its arrival.
        #expect(left.first?.writtenAt == Given.start)
        _ = try await trim(store, month, now: Given.start + .seconds(32 * 86_400))
        left = try await store.records(RecordQuery(owner: Given.ann, limit: 9))
        #expect(left.isEmpty)
        try await store.close()
    }

    @Test("delete the oldest when there is too much", arguments: Stores.all)
    func size(stores: Stores) async throws {
        let store = try await stores.make()
        let filling = String(repeating: "x", count: 1000)
        for part in 0..<20 as Range<Int64> {
            _ = try await store.keep((0..<200).map {
                Given.record(
                    part * 200 + $0, filling, at: .seconds(part * 200 + $0),
                    board: Given.board(UInt8($0 % 5)))
            })
        }
        let full = try await store.usage().bytes
        let bounds = DataBounds(keep: .seconds(86_400 * 10_000), maxBytes: full / 2)
        let count = try await trim(store, bounds, now: Given.start)
        #expect((1000...3000).contains(count.oversize))
        let usage = try await store.usage()
        #expect(usage.bytes <= full * 6 / 10)
        #expect(usage.records == 4000 - Int64(count.oversize))
        #expect(usage.oldest == Given.start + .seconds(Int64(count.oversize)))
        try await store.close()
    }
}
