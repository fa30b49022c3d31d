import AuthorityCore
import Gate
import NIOCore
import NIOHTTP1
import Sessions
import Synchronization
import Testing
import Wire

@Suite("The console's stream of events")
struct EventRouteTests {
    @Test("is server-sent events, and ends with its session")
    func stream() async throws {
        let feed = StubFeed()
        try await RunningConsole.with(live: feed) { console in
            let board = try #require(InstallationID(StubFrontend.iid))
            let name = try #require(ClassName("Reading"))
            feed.tell([
                .hello(Timestamp(milliseconds: 5)),
                .minute(RunningMinute(
                    board: board, start: Timestamp(milliseconds: 60_000), messages: 3,
                    refused: nil, queue: 2)),
                .reading(Reading(
                    board: board, className: name, operation: .create, record: nil,
                    at: Timestamp(milliseconds: 7), writtenAt: Timestamp(milliseconds: 6),
                    sequence: 9, values: ["celsius": 21.5], texts: [:], text: nil)),
                .reading(Reading(
                    board: board, className: name, operation: .create, record: nil,
                    at: Timestamp(milliseconds: 8), writtenAt: Timestamp(milliseconds: 8),
                    sequence: nil, values: [:], texts: ["value": "two\nlines"],
                    text: "two\nlines")),
                .quiet, .sessions, .bye,
            ])
            let reply = try await console.send(
                .GET, "/postern/v1/events?board=\(StubFrontend.iid)")
            #expect(reply.status == 200)
            #expect(
                reply.headers.first(name: "content-type") == "text/event-stream; charset=utf-8")
            #expect(reply.headers.first(name: "cache-control") == "no-store")
            let id = #""installationId":"\#(StubFrontend.iid)""#
            #expect(reply.text == """
                retry: 2000

                event: hello
                data: {"timeMs":5}

                event: minute
                data: {"arrival":null,\(id),"messages":3,"queue":2,"refused":null,"startMs":60000}

                event: reading
                data: {"atMs":7,"class":"Reading",\(id),"objectId":null,"op":"create",\
                "seq":9,"text":null,"texts":{},"values":{"celsius":21.5},"writtenMs":6}

                event: reading
                data: {"atMs":8,"class":"Reading",\(id),"objectId":null,"op":"create",\
                "seq":null,"text":"two\\nlines","texts":{"value":"two\\nlines"},"values":{},\
                "writtenMs":8}

                : quiet

                event: sessions
                data: {}

                event: bye
                data: {"code":209}


                """)
            #expect(feed.wishes == [EventFilter(board: board)])
        }
    }

    @Test("is for a browser that can send its cookie and no header")
    func browser() async throws {
        let feed = StubFeed()
        feed.tell([.bye])
        try await RunningConsole.with(live: feed) { console in
            let cookie = ["Cookie": "postern_session=\(StubFrontend.token)"]
            let reply = try await console.send(
                .GET, "/postern/v1/events", application: nil, token: nil, headers: cookie)
            #expect(reply.status == 200)
            // It opens nothing else: whoever writes names the application.
            let other = try await console.send(
                .POST, "/postern/v1/broker", application: nil, token: nil,
                headers: cookie.merging(["X-Postern-Console": "1"]) { $1 })
            #expect(other.status == 403)
            let parse = try await console.send(
                .GET, "/parse/sessions/me", application: nil, token: nil, headers: cookie)
            #expect(parse.status == 403)
        }
    }

    private static let strangers: [([String: String], Int64)] = [
        ([:], 209),
        (["Cookie": "postern_session=r:x"], 209),
        (["Cookie": "postern_session=\(StubFrontend.token)", "Sec-Fetch-Site": "cross-site"], 119),
        (["X-Parse-Session-Token": "r:stranger"], 209),
    ]

    @Test("is for whoever has a session, and for no other site", arguments: strangers)
    func refused(headers: [String: String], code: Int64) async throws {
        let feed = StubFeed()
        try await RunningConsole.with(live: feed) { console in
            let reply = try await console.send(
                .GET, "/postern/v1/events", token: nil, headers: headers)
            #expect(reply.code == code)
            #expect(feed.wishes.isEmpty)
        }
    }

    @Test("is cut when it is told so, whoever still reads")
    func cut() async throws {
        let feed = StubFeed()
        try await RunningConsole.with(live: feed) { console in
            let head = "GET /postern/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + "X-Parse-Application-Id: postern\r\n"
                + "X-Parse-Session-Token: \(StubFrontend.token)\r\n\r\n"
            async let answer = console.raw(Array(head.utf8))
            while feed.cutters == 0 { try await Task.sleep(for: .milliseconds(5)) }
            feed.cutAll()
            #expect(try await answer.contains("retry: 2000"))
        }
    }

    @Test("is let go of when its reader goes", .timeLimit(.minutes(1)))
    func gone() async throws {
        let feed = StubFeed()
        try await RunningConsole.with(live: feed) { console in
            let reader = Task {
                _ = try await console.send(.GET, "/postern/v1/events")
            }
            while feed.cutters == 0 { try await Task.sleep(for: .milliseconds(5)) }
            reader.cancel()
            while feed.closed == 0 { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    @Test("is not there, and live data is empty, where nothing is heard")
    func absent() async throws {
        try await RunningConsole.with { console in
            #expect(try await console.send(.GET, "/postern/v1/events").status == 404)
            let live = try await console.send(.GET, "/postern/v1/live")
            #expect(live.text == #"{"boards":[]}"#)
        }
    }

    @Test("stands beside what is live now")
    func live() async throws {
        try await RunningConsole.with(live: StubFeed()) { console in
            let path = "/postern/v1/boards/\(StubFrontend.iid)"
            let json = try #require(try await console.send(.GET, "\(path)/live").json)
            #expect(try json.integer("lastDataMs") == 61_000)
            let minutes = try json.object("minutes")
            for kind in ["messages", "refused", "queue"] {
                #expect(minutes.members[kind]?.asArray?.count == 60)
            }
            #expect(minutes.members["messages"]?.asArray?.last == .integer(1))
            let charts = try await console.send(.GET, "/postern/v1/live")
            let first = charts.json?.members["boards"]?.asArray?.first?.asObject
            #expect(first?["lastDataMs"] == .integer(61_000))
            let board = try await console.send(.GET, path)
            #expect(board.json?.members["lastDataMs"] == .integer(61_000))
        }
    }
}

/// A feed that says what the test gives it, to whoever comes.
final class StubFeed: LiveFeed {
    private struct State {
        var events: [ConsoleEvent] = []
        var isHeldOpen = true
        var wishes: [EventFilter] = []
        var cuts: [@Sendable () -> Void] = []
        var closed = 0
    }

    private let state = Mutex(State())
    private let data: LiveData

    init() {
        var data = LiveData()
        if let board = InstallationID(StubFrontend.iid), let name = ClassName("Reading"),
            let path = RecordPath(className: name, operation: .create, record: nil),
            let reading = Reading(
                Array(#"{"at":{"lat":1.5}}"#.utf8), path, sequence: nil, of: board,
                at: Timestamp(milliseconds: 61_000))
        {
            data.take(reading)
        }
        self.data = data
    }

    var wishes: [EventFilter] { state.withLock { $0.wishes } }
    var closed: Int { state.withLock { $0.closed } }
    var cutters: Int { state.withLock { $0.cuts.count } }

    /// What each stream says; it ends then.
    func forget(_ board: InstallationID, before time: Timestamp) {}
    func tell(_ events: [ConsoleEvent]) {
        state.withLock { ($0.events, $0.isHeldOpen) = (events, false) }
    }

    func cutAll() { for cut in state.withLock({ $0.cuts }) { cut() } }

    func live(of board: InstallationID) -> BoardLive {
        data.live(of: board, at: Timestamp(milliseconds: 61_000))
    }

    func minutes(of board: InstallationID) -> MinuteCounts {
        data.minutes(of: board, at: Timestamp(milliseconds: 61_000))
    }

    func lastData(of board: InstallationID) -> Timestamp? { data.lastData(of: board) }

    func arrival(of board: InstallationID) -> Arrival? {
        data.arrival(of: board, at: Timestamp(milliseconds: 61_000))
    }

    func events(
        for caller: Caller, _ desired: EventFilter
    ) async throws(AuthorityError) -> any EventSource {
        state.withLock { state in
            state.wishes.append(desired)
            return Source(state.events, isHeldOpen: state.isHeldOpen, of: self)
        }
    }

    private final class Source: EventSource {
        private let events: Mutex<[ConsoleEvent]>
        private let isHeldOpen: Bool
        private let feed: StubFeed

        init(_ events: [ConsoleEvent], isHeldOpen: Bool, of feed: StubFeed) {
            self.events = Mutex(events)
            self.isHeldOpen = isHeldOpen
            self.feed = feed
        }

        func next() async -> ConsoleEvent? {
            if isHeldOpen {
                // Until the console itself ends.
                try? await Task.sleep(for: .seconds(60))
                return nil
            }
            return events.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }

        func close() { feed.state.withLock { $0.closed += 1 } }

        func onCut(_ action: @escaping @Sendable () -> Void) {
            feed.state.withLock { $0.cuts.append(action) }
        }
    }
}
