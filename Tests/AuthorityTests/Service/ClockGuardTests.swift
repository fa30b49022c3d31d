import AuthorityCore
import AuthorityStore
import Foundation
import Logging
import MQTT
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityService

@Suite("Clock guard", .serialized)
struct ClockGuardTests {
    @Test("sweeps nothing on a clock that is behind the record, and says so in the audit log",
          arguments: [(120, true), (40 * 86_400, false)])
    func behind(seconds: Int, mayAnswer: Bool) async throws {
        let house = try await House()
        try await house.store.resetLatestTime(to: systemClock() + .seconds(seconds))
        let guardian = try await guardian(of: house)
        #expect(guardian.mayAnswer == mayAnswer)
        let change = try await guardian.look()
        #expect(!change.now.maySweep && !change.isNews)
        let entries = try await house.audit("alarm.clock")
        #expect(entries.count == 1)
        #expect(entries.first?.detail.contains("behind the latest time") == true)
        #expect(try await house.store.latestTime().map { $0 > systemClock() } == true)
    }

    @Test("sweeps nothing on a clock that is years ahead at the start, and answers no board")
    func ahead() async throws {
        let house = try await House()
        let past = systemClock() + .seconds(-3650 * 86_400)
        try await house.store.resetLatestTime(to: past)
        let guardian = try await guardian(of: house)
        #expect(!guardian.mayAnswer)
        #expect(try await !guardian.look().now.maySweep)
        #expect(try await house.store.latestTime() == past)
        #expect(try await house.audit("alarm.clock").count == 1)
    }

    @Test("takes an operator's word for the clock", arguments: [-40, 40, 4000])
    func accepted(days: Int) async throws {
        let house = try await House()
        try await house.store.resetLatestTime(to: systemClock() + .seconds(days * 86_400))
        let guardian = try await guardian(of: house, acceptsClock: true)
        #expect(guardian.mayAnswer)
        #expect(try await guardian.look().now == .believed)
        let latest = try #require(try await house.store.latestTime())
        #expect(latest <= systemClock() && systemClock() - latest < .seconds(60))
        #expect(try await house.audit("alarm.clock").isEmpty)
    }

    @Test("keeps the time that it believes, and never a lower one")
    func record() async throws {
        let house = try await House()
        #expect(try await house.store.latestTime() == nil)
        let guardian = try await guardian(of: house)
        _ = try await guardian.look()
        let latest = try #require(try await house.store.latestTime())
        try await house.store.raiseLatestTime(to: latest + .seconds(-10))
        #expect(try await house.store.latestTime() == latest)
        try await house.store.raiseLatestTime(to: latest + .seconds(10))
        #expect(try await house.store.latestTime() == latest + .seconds(10))
    }

    @Test("notes a gap once another database has taken over, and none before")
    func takenOver() async throws {
        let house = try await House()
        let store = SharedStore(house.store, SharedServer())
        store.past.withLock { $0 = "00000001" }
        let guardian = try await guardian(of: house, on: store)
        let latest = try #require(try await store.latestTime())
        func gaps() async throws -> [Gap] {
            try await store.read { tx throws(AuthorityError) in try tx.gaps() }
        }
        for past in ["00000001", nil, "00000001"] {
            store.past.withLock { $0 = past }
            try await Task.sleep(for: .milliseconds(5))
            try await guardian.look()
            #expect(try await gaps().isEmpty)
        }
        store.past.withLock { $0 = "00000002" }
        for _ in 0..<2 {
            try await guardian.look()
            #expect(try await gaps().map(\.began) == [latest])
            #expect(try await gaps().first?.ended == store.latestTime())
        }
    }

    @Test("is heard in the service's log at the start, until the clock is accepted",
          .timeLimit(.minutes(5)))
    func program() async throws {
        let place = try Place()
        #expect(try await place.initialise() == 0)
        let store = try await StateFolder(path: place.state).open()
        try await store.resetLatestTime(to: systemClock() + .seconds(7200))
        for (arguments, isSaid) in [([], true), (["--accept-clock"], false)] {
            let (service, log) = try place.start(["serve"] + arguments)
            try await untilTrue { try place.text(log).contains("ready\n") }
            let text = try place.text(log)
            #expect(text.contains("behind the latest time on record") == isSaid)
            kill(service.processIdentifier, SIGTERM)
            try await untilTrue { try !service.isRunning && place.brokers().isEmpty }
        }
    }

    @Test("has boards ask again, not heard, until the clock can be told")
    func unheard() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        let link = try await house.connect(board)
        try await link.client.subscribe([Subscription(board.inbox)])
        let (id, provision) = try await link.wait(for: board.inbox) {
            try? board.openProvision($0.payload)
        }
        await house.stop()
        let accepted = BoardMessage.Body.provisionAccepted(
            re: id, session: provision.session.objectID)
        for (offset, isHeard) in [(40 * 86_400, false), (0, true)] {
            let store = try await StateFolder(path: "\(house.folder.path)/state").open()
            try await store.resetLatestTime(to: systemClock() + .seconds(offset))
            let again = try await RunningHouse(folder: house.folder)
            let link = try await again.connect(board)
            let message = BoardMessage(
                id: try .fresh(), issuedAt: systemClock(), clockUnset: false, body: accepted)
            let payload = try board.seal(
                message.plaintext, to: provision.authority.sealKey)
            #expect(try await link.publish(board.outbox, payload) < 0x80)
            let active = { () async throws in
                try await store.read { transaction throws(AuthorityError) in
                    try transaction.activeSession(on: board.installation) != nil
                }
            }
            if isHeard {
                try await untilTrue(active)
            } else {
                try await untilTrue { again.server.traffic.unheardCount == 1 }
                #expect(try await !active())
            }
            await link.client.close()
            await again.stop()
        }
    }

    private func guardian(
        of house: House, on store: (any ServiceStore)? = nil, acceptsClock: Bool = false
    ) async throws -> ClockGuard {
        var logger = Logger(label: "test")
        logger.handler = SwiftLogNoOpLogHandler()
        return try await ClockGuard(
            store: store ?? house.store, authority: house.authority,
            acceptsClock: acceptsClock, logger: logger)
    }
}
