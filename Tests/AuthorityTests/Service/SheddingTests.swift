import AuthorityCore
import AuthorityStore
import Dispatch
import Logging
import MQTT
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityService

/// An authority whose store is held for a while, as by a disk that does not come back.
@Suite("A store that stands still")
struct SheddingTests {
    private static let crowd = Admission.fewest + 8

    /// What was published, in its order.
    private final class Published: Sendable {
        private let messages = Mutex<[OutgoingMessage]>([])
        func add(_ message: OutgoingMessage) { messages.withLock { $0.append(message) } }
        func to(_ topic: String) -> [[UInt8]] {
            messages.withLock { $0 }.filter { $0.topic == topic }.map(\.payload)
        }
    }

    private func traffic(_ house: House, _ published: Published) async throws -> BoardTraffic {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let link = BrokerLink(
            login: BrokerLink.BrokerLogins(
                uri: try BrokerURI("mqtt://127.0.0.1:1"), clientID: "test", username: nil,
                password: nil, caFile: nil, isAlone: true), logger: logger)
        return BoardTraffic(
            authority: house.authority, link: link,
            worker: BrokerWorker(
                link: link, root: .standard, access: .none, consumerAccess: nil,
                logger: logger, authority: house.authority),
            clock: try await ClockGuard(
                store: house.store, authority: house.authority, acceptsClock: true,
                logger: logger),
            publish: { message async throws(AuthorityError) in published.add(message) },
            logger: logger)
    }

    @Test("has boards refused by name before it goes on, and all that was taken done afterwards",
          .timeLimit(.minutes(5)))
    func held() async throws {
        let house = try await House()
        let ada = try await house.login()
        var boards: [LiveBoard] = []
        for _ in 0..<Self.crowd {
            boards.append(try await house.provisioned(try BoardDouble(), by: ada))
        }
        let late = try await house.provisioned(try BoardDouble(), by: ada)
        let published = Published()
        let traffic = try await traffic(house, published)
        let running = Task { await traffic.run() }
        defer { running.cancel() }
        let hold = try await StoreAtRest(house.store)
        for live in boards {
            traffic.take(live.board.outbox, try live.payload(
                .authenticate(live.provision.tokens.session, durationMinutes: nil)))
        }
        try await untilTrue { traffic.load >= .heavy }
        let id = try MessageID.fresh()
        let heartbeat = try late.payload(
            .authenticate(late.provision.tokens.session, durationMinutes: nil), id: id)
        traffic.take(late.board.outbox, heartbeat)
        try await untilTrue { !published.to(late.board.inbox).isEmpty }
        let reply = try late.reply(in: .reply(try #require(published.to(late.board.inbox).first)))
        #expect(reply.errorCode == 155 && reply.re == id)
        #expect(traffic.tally.shed.refused == 1)
        #expect(boards.allSatisfy { published.to($0.board.inbox).isEmpty })
        try await hold.end()
        try await untilTrue { boards.allSatisfy { !published.to($0.board.inbox).isEmpty } }
        traffic.take(late.board.outbox, heartbeat)
        try await untilTrue { published.to(late.board.inbox).count == 2 }
        for live in boards + [late] {
            let last = try #require(published.to(live.board.inbox).last)
            #expect(try live.reply(in: .reply(last)).result?.session != nil)
            #expect(try await house.record(live.session)?.state == .active)
        }
    }

    @Test("is not made busy by one board: its ninth message is dropped, and others are done",
          .timeLimit(.minutes(5)))
    func flood() async throws {
        let house = try await House()
        let ada = try await house.login()
        let loud = try await house.provisioned(try BoardDouble(), by: ada)
        let other = try await house.provisioned(try BoardDouble(), by: ada)
        let published = Published()
        let traffic = try await traffic(house, published)
        let running = Task { await traffic.run() }
        defer { running.cancel() }
        let hold = try await StoreAtRest(house.store)
        for _ in 0..<Self.crowd {
            traffic.take(loud.board.outbox, try loud.payload(
                .revoke(loud.provision.tokens.session)))
        }
        #expect(traffic.tally.shed == SheddingTally(
            refused: 0, dropped: Self.crowd - WaitingMessages.each))
        let began = ContinuousClock.now
        try await untilTrue { ContinuousClock.now - began > .milliseconds(1200) }
        #expect(traffic.load == .light)
        traffic.take(other.board.outbox, try other.payload(
            .authenticate(other.provision.tokens.session, durationMinutes: nil)))
        try await hold.end()
        try await untilTrue { traffic.isIdle }
        #expect(traffic.tally.shed.refused == 0)
        let reply = try #require(published.to(other.board.inbox).last)
        #expect(try other.reply(in: .reply(reply)).result?.session != nil)
        traffic.take(loud.board.outbox, try loud.payload(
            .revoke(loud.provision.tokens.session)))
        #expect(traffic.tally.shed.dropped == Self.crowd - WaitingMessages.each)
    }
}

/// Keeps a store's writer until it is told to go on; also where a test ends early.
private final class StoreAtRest: Sendable {
    private let release = DispatchSemaphore(value: 0)
    private let holder: Task<Void, any Error>

    init(_ store: any RecordStore) async throws {
        let isHeld = Mutex(false)
        let holder = Task { [release] in
            try await store.transact { _ throws(AuthorityError) in
                isHeld.withLock { $0 = true }
                release.wait()
            }
        }
        self.holder = holder
        try await untilTrue { isHeld.withLock { $0 } }
    }

    deinit { release.signal() }

    func end() async throws {
        release.signal()
        try await holder.value
    }
}
