import AuthorityCore
import AuthorityStore
import Logging
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityService
@testable import MQTT

@Suite("Streams of events", .serialized, .everyStore)
struct EventHubTests {
    @Test("tell whose it is what changes, and nobody else")
    func ownership() async throws {
        let hub = try await RunningHub()
        let bob = try await hub.house.addUser("bob")
        let carol = try await hub.house.addUser("carol")
        let ada = try await hub.house.login()
        let own = try await hub.watch(bob)
        let other = try await hub.watch(carol)
        let administrator = try await hub.watch(ada)
        let all = try await hub.watch(ada, EventFilter(everyone: true))
        let board = try BoardDouble()
        _ = try await hub.house.provisioned(board, by: bob)
        try await own.wait {
            if case .claim(let claim) = $0 { claim.state == .accepted } else { false }
        }
        try await own.wait { $0.isBoard { $0.session?.state == .active } }
        try await own.wait { $0 == .sessions }
        let status = BoardStatus(
            up: true, available: true, version: "1", since: hub.house.clock.now)
        try await hub.house.authority.note(status, of: board.installation)
        try await own.wait { $0.isBoard { $0.status?.up == true } }
        try await all.wait { $0.isBoard { $0.status?.up == true } }
        try await administrator.wait {
            if case .audit(let entry) = $0 { entry.event == "claim.accepted" } else { false }
        }
        for stream in [other, administrator] {
            #expect(!stream.heard.contains { $0.isBoard { _ in true } })
            #expect(!stream.heard.contains { if case .claim = $0 { true } else { false } })
        }
        #expect(!own.heard.contains { if case .audit = $0 { true } else { false } })
        #expect(own.heard.first == .hello(hub.house.clock.now))
        await hub.stop()
    }

    @Test("hear what another process commits")
    func foreign() async throws {
        let hub = try await RunningHub()
        let bob = try await hub.house.addUser("bob")
        let own = try await hub.watch(bob)
        let store = try await hub.house.place.open()
        let clock = hub.house.clock
        let replica = Authority(
            store: store, cryptography: QuickPasswords(), worker: NotingWorker(),
            keys: hub.house.keys, rules: hub.house.authority.rules, clock: { clock.now })
        _ = try await replica.claim(
            ClaimOrder(url: try BoardDouble().url(), duration: nil, scope: nil), by: bob)
        try await own.wait { if case .claim = $0 { true } else { false } }
        await hub.stop()
    }

    enum End: CaseIterable { case logout, revoked, disabled, password, expired }

    @Test("end with their session, wherever that ends", arguments: End.allCases)
    func over(end: End) async throws {
        let hub = try await RunningHub()
        let ada = try await hub.house.login()
        let bob = try await hub.house.addUser("bob")
        let stream = try await hub.watch(bob)
        let other = try await hub.watch(ada)
        try await stream.wait { if case .hello = $0 { true } else { false } }
        switch end {
        case .logout: try await hub.house.authority.logout(bob)
        case .revoked: try await hub.house.authority.revoke(bob.session.objectID, by: ada)
        case .disabled:
            _ = try await hub.house.authority.setEnabled(false, user: "bob", by: ada)
        case .password:
            try await hub.house.authority.setPassword(
                SecretBytes("another password"), of: "bob", actor: "test")
        case .expired: hub.house.clock.advance(.seconds(400 * 86_400))
        }
        try await untilTrue { stream.isOver }
        #expect(stream.heard.last == .bye)
        if end != .expired { #expect(!other.isOver) }
        await hub.stop()
    }

    private func isReading(_ celsius: Double) -> (ConsoleEvent) -> Bool {
        { event in
            guard case .reading(let reading) = event else { return false }
            return reading.values == ["celsius": celsius]
        }
    }

    @Test("bring nothing more once their session is logged out")
    func nothingAfterLogout() async throws {
        let hub = try await RunningHub()
        let bob = try await hub.house.addUser("bob")
        let board = try BoardDouble()
        _ = try await hub.house.provisioned(board, by: bob)
        let again = try await hub.house.login("bob")
        let stream = try await hub.watch(bob, EventFilter(board: board.installation))
        let other = try await hub.watch(again, EventFilter(board: board.installation))
        hub.data(#"{"celsius":21.5}"#, of: board)
        try await stream.wait(for: isReading(21.5))
        try await hub.house.authority.logout(bob)
        hub.data(#"{"celsius":99}"#, of: board)
        try await other.wait(for: isReading(99))
        try await untilTrue { stream.isOver }
        #expect(stream.heard.last == .bye)
        #expect(!stream.heard.contains(where: isReading(99)))
        #expect(!other.isOver)
        await hub.stop()
    }

    @Test("are so many a session, and are counted until they are let go of")
    func limits() async throws {
        let hub = try await RunningHub()
        let bob = try await hub.house.addUser("bob")
        var sources: [any EventSource] = []
        for _ in 0..<8 { sources.append(try await hub.hub.events(for: bob, EventFilter())) }
        let error = await #expect(throws: AuthorityError.self) {
            _ = try await hub.hub.events(for: bob, EventFilter())
        }
        if case .refused(let refusal) = error { #expect(refusal.is(.rateLimit)) }
        sources.removeLast()
        try await untilTrue { await hub.hub.streamCount == 7 }
        _ = try await hub.hub.events(for: bob, EventFilter())
        sources.removeAll()
        try await untilTrue { await hub.hub.streamCount == 0 }
        // A restricted session watches nothing, and nobody else's board is watched.
        let device = try await hub.house.device(by: bob)
        let board = try BoardDouble()
        _ = try await hub.house.provisioned(board, by: try await hub.house.login())
        for (caller, filter) in [
            (device.caller, EventFilter()), (bob, EventFilter(board: board.installation)),
            (bob, EventFilter(everyone: true)),
        ] {
            await #expect(throws: AuthorityError.self) {
                _ = try await hub.hub.events(for: caller, filter)
            }
        }
        #expect(await hub.hub.streamCount == 0)
        await hub.stop()
    }

    @Test("bring readings to whose board it is when they are sent")
    func readings() async throws {
        let hub = try await RunningHub()
        let bob = try await hub.house.addUser("bob")
        let board = try BoardDouble()
        _ = try await hub.house.provisioned(board, by: bob)
        let stream = try await hub.watch(bob, EventFilter(board: board.installation))
        hub.data(#"{"celsius":21.5}"#, of: board, seq: "7", ts: "1000")
        hub.data("kept", of: board, retain: true)
        try await stream.wait {
            if case .reading(let reading) = $0 {
                reading.values == ["celsius": 21.5] && reading.sequence == 7
                    && reading.writtenAt == Timestamp(milliseconds: 1000)
            } else { false }
        }
        try await stream.wait {
            if case .minute(let minute) = $0 { minute.messages == 1 } else { false }
        }
        try await hub.house.authority.release(board.installation, by: bob)
        let count = stream.heard.count { if case .reading = $0 { true } else { false } }
        for _ in 0..<5 { hub.data("secret", of: board) }
        try await untilTrue { hub.live.takeReadings().isEmpty }
        let mark = try await hub.watch(bob)
        try await mark.wait { if case .hello = $0 { true } else { false } }
        #expect(stream.heard.count { if case .reading = $0 { true } else { false } } == count)
        // Of a flood so many are sent, and all are counted.
        for _ in 0..<2000 { hub.data("1", of: board) }
        let minutes = hub.live.minutes(of: board.installation)
        #expect(minutes.messages.reduce(0, +) == 2006)
        #expect(hub.live.takeReadings().count <= 21)
        await hub.stop()
    }
}

@Suite("A stream's queue")
struct EventQueueTests {
    private let board = InstallationID(random: [UInt8](repeating: 1, count: 16))

    private func reading(_ number: Int) -> ConsoleEvent {
        .audit(AuditEntry(
            at: Timestamp(milliseconds: Int64(number)), event: "e", actor: "a", board: nil,
            session: nil, detail: ""))
    }

    private func minute(_ messages: Int, of number: UInt8 = 1) -> ConsoleEvent {
        .minute(RunningMinute(
            board: InstallationID(random: [UInt8](repeating: number, count: 16)),
            start: Timestamp(milliseconds: 0), messages: messages, refused: nil, queue: nil))
    }

    @Test("drops what a later event says as well, and of many the oldest")
    func lossy() async {
        let queue = EventQueue()
        queue.offer(.hello(Timestamp(milliseconds: 0)))
        for count in 0..<10 { queue.offer(minute(count)) }
        for number in 2..<200 { queue.offer(minute(1, of: UInt8(number))) }
        queue.offer(.sessions)
        queue.offer(.sessions)
        queue.close()
        #expect(await queue.next() == nil)
        let open = EventQueue()
        open.offer(.hello(Timestamp(milliseconds: 0)))
        for count in 0..<10 { open.offer(minute(count)) }
        for number in 2..<200 { open.offer(minute(1, of: UInt8(number))) }
        open.offer(.sessions)
        open.offer(.sessions)
        var events: [ConsoleEvent] = []
        for _ in 0..<66 { if let event = await open.next() { events.append(event) } }
        #expect(events.first == .hello(Timestamp(milliseconds: 0)))
        #expect(events.last == .sessions)
        #expect(events.count { $0 == .sessions } == 1)
        #expect(!events.contains(minute(9)))
    }

    @Test("is cut when its reader stays behind, or does not take the last event")
    func cut() async {
        let cuts = Mutex(0)
        let queue = EventQueue()
        queue.onCut { cuts.withLock { $0 += 1 } }
        for number in 0..<256 { queue.offer(reading(number)) }
        #expect(!queue.check(at: .now))
        #expect(queue.check(at: .now + .seconds(21)))
        #expect(cuts.withLock { $0 } == 1)
        #expect(await queue.next() == nil)
        let full = EventQueue()
        full.onCut { cuts.withLock { $0 += 1 } }
        for number in 0..<257 { full.offer(reading(number)) }
        #expect(full.check(at: .now))
        let late = EventQueue()
        for number in 0..<5 { late.offer(reading(number)) }
        late.close(.bye)
        #expect(!late.check(at: .now))
        #expect(late.check(at: .now + .seconds(1)))
        // Who comes after it was cut is cut, too.
        late.onCut { cuts.withLock { $0 += 1 } }
        #expect(cuts.withLock { $0 } == 3)
    }

    @Test("gives a reader that waits the farewell at once, and nothing after it")
    func farewell() async {
        let queue = EventQueue()
        async let first = queue.next()
        queue.close(.bye)
        queue.offer(.sessions)
        #expect(await first == .bye)
        #expect(await queue.next() == nil)
        #expect(queue.check(at: .now))
    }
}

/// A hub over a house with a test's clock and no broker.
struct RunningHub {
    let house: House
    let live: LiveBoards
    let hub: EventHub
    private let task: Task<Void, Never>

    init(_ given: House? = nil) async throws {
        let house = if let given { given } else { try await House() }
        let clock = house.clock
        let live = LiveBoards(root: .standard, clock: { clock.now })
        let hub = EventHub(
            authority: house.authority, live: live, clock: { clock.now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        (self.house, self.live, self.hub) = (house, live, hub)
        task = Task { await hub.run() }
    }

    func stop() async {
        task.cancel()
        await task.value
    }

    func watch(
        _ caller: Caller, _ filter: EventFilter = EventFilter()
    ) async throws -> StreamReader {
        StreamReader(try await hub.events(for: caller, filter))
    }

    func data(
        _ payload: String, of board: BoardDouble, class name: String = "Reading",
        seq: String? = nil, ts: String? = nil, retain: Bool = false
    ) {
        live.take(IncomingMessage(
            topic: "postern/v1/\(board.installation)/data/\(name)/create",
            payload: Array(payload.utf8), qos: .atMostOnce, retain: retain, packetID: 0,
            properties: MessageProperties(
                userProperties: [("seq", seq), ("ts", ts)].compactMap { name, value in
                    value.map { UserProperty(name, $0) }
                })))
    }
}

/// Reads a stream to its end and keeps what it said.
final class StreamReader: Sendable {
    private let state = Mutex((heard: [ConsoleEvent](), isOver: false))

    init(_ source: any EventSource) {
        Task { [weak self] in
            while let event = await source.next() {
                self?.state.withLock { $0.heard.append(event) }
            }
            self?.state.withLock { $0.isOver = true }
        }
    }

    var heard: [ConsoleEvent] { state.withLock { $0.heard } }
    var isOver: Bool { state.withLock { $0.isOver } }

    func wait(for isIt: @escaping (ConsoleEvent) -> Bool) async throws {
        try await untilTrue { self.heard.contains(where: isIt) }
    }
}

extension ConsoleEvent {
    fileprivate func isBoard(_ isIt: (Board) -> Bool) -> Bool {
        if case .board(let board) = self { isIt(board) } else { false }
    }
}
