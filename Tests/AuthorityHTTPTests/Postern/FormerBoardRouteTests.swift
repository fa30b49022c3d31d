import AuthorityCore
import Gate
import NIOHTTP1
import Sessions
import Synchronization
import Testing
import Wire

@Suite("The routes of former boards")
struct FormerBoardRouteTests {
    static let attic = "77777777-2b7a-4d4e-9c55-0123456789ab"
    static let barn = "88888888-2b7a-4d4e-9c55-0123456789ab"
    private static let path = "/postern/v1/former-boards"

    @Test("list boards that the caller has no more, with the span of what is kept")
    func list() async throws {
        let store = KeptStore([Self.attic, Self.barn, StubFrontend.iid])
        try await RunningConsole.with(data: store) { console in
            let reply = try await console.send(.GET, Self.path)
            #expect(reply.text == """
                {"results":[{"firstRecord":1700000000,"installationId":"\(Self.attic)",\
                "lastRecord":1700000900,"name":"attic"},\
                {"firstRecord":1700000000,"installationId":"\(Self.barn)",\
                "lastRecord":1700000900,"name":null}]}
                """)
            let one = try await console.send(.GET, "\(Self.path)/\(Self.attic)")
            #expect(one.json?.members["name"] == .string("attic"))
            #expect(store.owners == ["uSeR000001"])
        }
    }

    @Test("read values and series as the caller's own")
    func readings() async throws {
        let store = KeptStore([Self.attic])
        try await RunningConsole.with(data: store) { console in
            let newest = try await console.send(.GET, "\(Self.path)/\(Self.attic)/newest")
            #expect(newest.json?.members["kept"] == .bool(true))
            let series = try await console.send(
                .GET, "\(Self.path)/\(Self.attic)/series?class=Reading&field=a&since=1&until=9")
            #expect(series.status == 200)
            #expect(store.owners == ["uSeR000001"])
        }
    }

    @Test("delete what the caller kept")
    func delete() async throws {
        let store = KeptStore([Self.attic])
        try await RunningConsole.with(data: store) { console in
            let reply = try await console.send(.DELETE, "\(Self.path)/\(Self.attic)")
            #expect(reply.status == 200)
            #expect(store.boards.isEmpty)
            #expect(await console.frontend.calls.contains("forget \(Self.attic)"))
            let again = try await console.send(.DELETE, "\(Self.path)/\(Self.attic)")
            #expect(again.status == 404 && again.code == 101)
            let gone = try await console.send(.GET, "\(Self.path)/\(Self.attic)")
            #expect(gone.status == 404 && gone.code == 101)
            let calls = await console.frontend.calls.filter { $0.hasPrefix("forget") }
            #expect(calls.count == 1)
        }
    }

    @Test("delete nothing if the authority refuses")
    func refused() async throws {
        let store = KeptStore([Self.attic])
        try await RunningConsole.with(data: store) { console in
            await console.frontend.fail(with: .refused(Refusal(.forbidden, "no")))
            let reply = try await console.send(.DELETE, "\(Self.path)/\(Self.attic)")
            #expect(reply.code == 119)
            #expect(store.boards == [Self.attic])
        }
    }

    @Test("find no present board, and need a session", arguments: ["", "/newest", "/series?class=A"
        + "&field=a&since=1&until=9"])
    func access(route: String) async throws {
        let store = KeptStore([StubFrontend.iid])
        try await RunningConsole.with(data: store) { console in
            let path = "\(Self.path)/\(StubFrontend.iid)\(route)"
            let present = try await console.send(.GET, path)
            #expect(present.status == 404 && present.code == 101)
            let stranger = try await console.send(.GET, path, token: nil)
            #expect(stranger.code == 209)
        }
    }

    @Test("are empty where nothing is kept")
    func nothingKept() async throws {
        try await RunningConsole.with { console in
            #expect(try await console.send(.GET, Self.path).text == #"{"results":[]}"#)
            for method in [HTTPMethod.GET, .DELETE] {
                let one = try await console.send(method, "\(Self.path)/\(Self.attic)")
                #expect(one.status == 404 && one.code == 101)
            }
        }
    }
}

/// Two records of each board, for any owner that asks.
final class KeptStore: DataStore {
    private struct State {
        var boards: [String]
        var owners: Set<String> = []
    }

    private let state: Mutex<State>

    init(_ boards: [String]) { state = Mutex(State(boards: boards)) }

    var boards: [String] { state.withLock { $0.boards } }
    /// The owners whose records were read.
    var owners: Set<String> { state.withLock { $0.owners } }

    func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID] {
        state.withLock { state in
            state.owners.insert("\(owner)")
            return state.boards.compactMap { InstallationID($0) }
        }
    }

    func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord] {
        let isThere = state.withLock { state in
            state.owners.insert("\(query.owner)")
            return query.board.map { state.boards.contains("\($0)") } ?? false
        }
        guard isThere, let board = query.board, let app = AppName("thermo"),
            let className = ClassName("Reading"),
            let path = RecordPath(className: className, operation: .create, record: nil)
        else { return [] }
        let time = Timestamp(
            milliseconds: query.isDescending ? 1_700_000_900_000 : 1_700_000_000_000)
        return [DataRecord(
            board: board, sequence: 1, path: path, app: app, writtenAt: time, receivedAt: time,
            payload: [])]
    }

    func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue] {
        state.withLock { _ = $0.owners.insert("\(owner)") }
        return []
    }

    func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket] {
        state.withLock { _ = $0.owners.insert("\(query.owner)") }
        return []
    }

    func delete(_ release: DataRelease) async throws(AuthorityError) {
        state.withLock { $0.boards.removeAll { $0 == "\(release.board)" } }
    }
    func openReleases(until time: Timestamp) async throws(AuthorityError) -> [DataRelease] { [] }
    func settle(_ release: DataRelease, ownerHasBoard: Bool) async throws(AuthorityError) {}

    func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount { KeepCount() }
    func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage {
        ObjectPage(objects: [], count: nil, isPartial: false)
    }
    func object(
        _ id: RecordID, of className: ClassName, owner: UserID
    ) async throws(AuthorityError) -> DataObject? { nil }
    func trim(_ bounds: DataBounds, now: Timestamp) async throws(AuthorityError) -> TrimCount {
        TrimCount()
    }
    func usage() async throws(AuthorityError) -> DataUsage {
        DataUsage(records: 0, bytes: 0, oldest: nil)
    }
    func close() async throws(AuthorityError) {}
}
