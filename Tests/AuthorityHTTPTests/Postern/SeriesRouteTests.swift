import AuthorityCore
import Gate
import NIOHTTP1
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("The routes of stored data")
struct SeriesRouteTests {
    private static let path = "/postern/v1/boards/\(StubFrontend.iid)"
    private static let hour = "since=1700000000000&until=1700003600000"

    private func series(
        _ query: String, in store: SeriesStore? = SeriesStore()
    ) async throws -> RunningConsole.Reply {
        let reply = Mutex<RunningConsole.Reply?>(nil)
        try await RunningConsole.with(data: store) { console in
            let found = try await console.send(.GET, "\(Self.path)/series?\(query)")
            reply.withLock { $0 = found }
        }
        return try #require(reply.withLock { $0 })
    }

    @Test("ask for the board owner's data, with a bucket width that fits")
    func query() async throws {
        let store = SeriesStore()
        let reply = try await series(
            "class=Reading&field=room.celsius&object=kitchen&points=361&\(Self.hour)", in: store)
        #expect(reply.status == 200)
        let query = try #require(store.queries.first)
        #expect(query.board.description == StubFrontend.iid)
        #expect("\(query.owner)" == "uSeR000001")
        #expect("\(query.className)" == "Reading" && query.field == "room.celsius")
        #expect(query.record == RecordID("kitchen"))
        #expect(query.since.milliseconds == 1_700_000_000_000)
        #expect(query.until - query.since == .seconds(3600))
        #expect(query.step == .seconds(10))
    }

    @Test("answer columns in which an empty bucket is null")
    func columns() async throws {
        let store = SeriesStore()
        store.buckets = [
            SeriesBucket(
                start: Timestamp(milliseconds: 1_700_000_000_000), least: 1.5, greatest: 3.5,
                sum: 5, count: 2, isLate: true),
            SeriesBucket(
                start: Timestamp(milliseconds: 1_700_000_020_000), least: 4, greatest: 4,
                sum: 4, count: 1, isLate: false),
        ]
        let reply = try await series("class=Reading&field=a&points=400&\(Self.hour)", in: store)
        #expect(reply.text == """
            {"count":[2,0,1],"late":[0],"max":[3.5,null,4],"mean":[2.5,null,4],"min":[1.5,null,4],\
            "start":1700000000000,"step":10000}
            """)
    }

    @Test("answer empty columns where nothing is")
    func empty() async throws {
        let reply = try await series("class=Reading&field=a&\(Self.hour)")
        #expect(reply.json?.members["mean"] == .array([]))
        #expect(reply.json?.members["start"] == .integer(1_700_000_000_000))
    }

    private static let wrong = [
        "field=a&\(hour)", "class=Reading&\(hour)", "class=Reading&field=a&since=1",
        "class=Reading&field=a&until=1", "class=Reading&field=a&since=5&until=5",
        "class=Reading&field=a&since=6&until=5", "class=Reading&field=&\(hour)",
        "class=a%20b&field=a&\(hour)", "class=Reading&field=a%00&\(hour)",
        "class=Reading&field=a&object=a/b&\(hour)",
        "class=Reading&field=a&points=1&\(hour)", "class=Reading&field=a&points=2001&\(hour)",
        "class=Reading&field=a&points=x&\(hour)", "class=Reading&field=a&since=-1&until=5",
        "class=Reading&field=a&since=1&until=99999999999999999999",
        "class=Reading&field=a&since=1&until=9223372036854775807",
        "class=Reading&field=\(String(repeating: "a", count: 257))&\(hour)",
    ]

    @Test("refuse what is malformed before the store is asked", arguments: wrong)
    func refusal(query: String) async throws {
        let store = SeriesStore()
        let reply = try await series(query, in: store)
        #expect(reply.status == 400 && reply.code == 142)
        #expect(store.queries.isEmpty)
    }

    @Test("take any name of a field as a name", arguments: ["%27%3B--", "a..b", "%F0%9F%9A"])
    func hostileField(field: String) async throws {
        let reply = try await series("class=Reading&field=\(field)&\(Self.hour)")
        #expect(reply.status == 200)
    }

    @Test("say so where nothing is kept")
    func nothingKept() async throws {
        let reply = try await series("class=Reading&field=a&\(Self.hour)", in: nil)
        #expect(reply.status == 404 && reply.code == 101)
        #expect(reply.text.contains("keeps no data"))
        try await RunningConsole.with(live: StubFeed()) { console in
            let newest = try await console.send(.GET, "\(Self.path)/newest")
            #expect(newest.json?.members["kept"] == .bool(false))
            let value = newest.results?.first?.asObject
            #expect(value?["field"] == .string("at.lat"))
            #expect(value?["number"] == .number(1.5))
        }
    }

    @Test("show the newest value of each field, and whether it waited on the board")
    func newest() async throws {
        let store = SeriesStore()
        let name = try #require(ClassName("Reading"))
        store.values = [
            NewestValue(
                className: name, record: nil, field: "celsius", value: .number(21.5),
                writtenAt: Timestamp(milliseconds: 1000),
                receivedAt: Timestamp(milliseconds: 90_000)),
            NewestValue(
                className: name, record: RecordID("door"), field: "state", value: .text("open"),
                writtenAt: Timestamp(milliseconds: 2000),
                receivedAt: Timestamp(milliseconds: 3000)),
        ]
        try await RunningConsole.with(live: StubFeed(), data: store) { console in
            let reply = try await console.send(.GET, "\(Self.path)/newest")
            #expect(reply.text == """
                {"kept":true,"results":[{"class":"Reading","field":"celsius","late":true,\
                "number":21.5,"objectId":null,"receivedMs":90000,"writtenMs":1000},\
                {"class":"Reading","field":"state","late":false,"objectId":"door",\
                "receivedMs":3000,"text":"open","writtenMs":2000}]}
                """)
        }
    }

    @Test("need a session, and a board that the caller may see")
    func access() async throws {
        let store = SeriesStore()
        try await RunningConsole.with(data: store) { console in
            for route in ["newest", "series?class=Reading&field=a&\(Self.hour)"] {
                let stranger = try await console.send(.GET, "\(Self.path)/\(route)", token: nil)
                #expect(stranger.status == 400 && stranger.code == 209)
                await console.frontend.fail(with: .noObject)
                let none = try await console.send(.GET, "\(Self.path)/\(route)")
                #expect(none.status == 404 && none.code == 101)
                await console.frontend.fail(with: nil)
            }
            #expect(store.queries.isEmpty && store.owner == nil)
        }
    }

    @Test("have at most as many buckets as points, whatever the range", arguments: [
        (1, 2), (3_600_000, 300), (86_400_000, 2), (86_400_000, 300), (2_592_000_000, 2000),
        (253_402_300_799_000, 2), (253_402_300_799_000, 2000), (999, 7),
    ] as [(Int64, Int)])
    func width(span: Int64, points: Int) {
        let width = BucketWidth(of: .milliseconds(span), atMost: points).milliseconds
        #expect(width > 0)
        // The worst start is the last millisecond of a bucket.
        let touched = (width - 1 + span - 1) / width + 1
        #expect(touched <= Int64(points))
    }
}

/// A data store that notes what it is asked, and answers what the test gives it.
final class SeriesStore: DataStore {
    private struct State {
        var queries: [SeriesQuery] = []
        var owner: UserID?
        var buckets: [SeriesBucket] = []
        var values: [NewestValue] = []
        var releases: [DataRelease] = []
        var isAway = false
    }

    private let state = Mutex(State())
    /// Whether the time of a query of objects is up before it has read all.
    private let isBusy: Bool

    init(isBusy: Bool = false) { self.isBusy = isBusy }

    var queries: [SeriesQuery] { state.withLock { $0.queries } }
    /// The owner in the last query.
    var owner: UserID? { state.withLock { $0.owner } }
    var releases: [DataRelease] { state.withLock { $0.releases } }
    /// While it is away, it deletes nothing.
    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }
    var buckets: [SeriesBucket] {
        get { state.withLock { $0.buckets } }
        set { state.withLock { $0.buckets = newValue } }
    }
    var values: [NewestValue] {
        get { state.withLock { $0.values } }
        set { state.withLock { $0.values = newValue } }
    }

    func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket] {
        state.withLock { state in
            state.queries.append(query)
            state.owner = query.owner
            return state.buckets
        }
    }

    func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue] {
        state.withLock { state in
            state.owner = owner
            return Array(state.values.prefix(limit))
        }
    }

    func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount { KeepCount() }
    func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord] { [] }
    func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage {
        ObjectPage(objects: [], count: query.counts ? 7 : nil, isPartial: isBusy)
    }
    func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID] { [] }
    func delete(_ release: DataRelease) async throws(AuthorityError) {
        let isAway = state.withLock { state in
            state.releases.append(release)
            return state.isAway
        }
        if isAway { throw .failed(layer: "data", text: "the store is away") }
    }
    func openReleases(until time: Timestamp) async throws(AuthorityError) -> [DataRelease] { [] }
    func settle(_ release: DataRelease, ownerHasBoard: Bool) async throws(AuthorityError) {}
    func trim(_ bounds: DataBounds, now: Timestamp) async throws(AuthorityError) -> TrimCount {
        TrimCount()
    }
    func usage() async throws(AuthorityError) -> DataUsage {
        DataUsage(records: 0, bytes: 0, oldest: nil)
    }
    func close() async throws(AuthorityError) {}
}
