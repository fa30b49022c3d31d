import AuthorityStore
import Sessions
import Testing
import Wire

@testable import AuthorityCore

@Suite("Alerts in the store", .everyStore)
struct AlertStoreTests {
    /// A watch over a house's own boards.
    private struct Evaluation {
        let house: House
        var watch: AlertWatch

        init(_ house: House) {
            self.house = house
            watch = AlertWatch(rules: AlertRules(), at: house.clock.now)
        }

        mutating func round(_ channels: [AlertChannel] = [.webhook]) async throws {
            let now = house.clock.now
            let sight = AlertSight(now: now, hearsSince: now - .seconds(900), grace: .seconds(60))
            watch = try await house.authority.evaluateAlerts(
                watch, sight, channels: channels, lastData: { _ in nil })
        }
    }

    private func list(
        _ house: House, _ caller: Caller, everyone: Bool = false, resolved: Bool = false
    ) async throws -> [Alert] {
        try await house.authority.alerts(
            AlertQuery(everyone: everyone, withResolved: resolved), by: caller)
    }

    @Test("are found for each board, shown to its owner, and kept resolved for 30 days")
    func owner() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        var watch = Evaluation(house)
        try await watch.round()
        #expect(try await list(house, bob).isEmpty)
        house.clock.advance(.seconds(900))
        try await watch.round()
        try await watch.round()
        let alert = try #require(try await list(house, bob).first)
        #expect(alert.kind == .boardOffline)
        #expect(alert.board == live.board.installation)
        #expect(alert.openedAt == house.clock.now)
        #expect(try await list(house, bob).count == 1)
        #expect(try await list(house, ada).isEmpty)
        #expect(try await list(house, ada, everyone: true) == [alert])
        let own = AlertQuery(board: live.board.installation)
        #expect(try await house.authority.alerts(own, by: bob) == [alert])
        #expect(try await house.authority.alerts(own, by: ada) == [alert])
        let eve = try await house.addUser("eve")
        await #expect(throws: AuthorityError.self) {
            try await house.authority.alerts(own, by: eve)
        }
        _ = try await live.ask(.authenticate(
            live.provision.tokens.session, durationMinutes: nil, report: .sample(1)))
        house.clock.advance(.seconds(300))
        try await watch.round()
        #expect(try await list(house, bob).isEmpty)
        let resolved = try #require(try await list(house, bob, resolved: true).first)
        #expect(resolved.id == alert.id)
        #expect(resolved.resolvedAt == house.clock.now)
        house.clock.advance(.seconds(31 * 86_400))
        while try await house.authority.sweep() {}
        let left = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.alerts(
                of: nil, on: nil, resolvedAfter: Timestamp(milliseconds: 0), limit: 9)
        }
        #expect(!left.contains { $0.id == alert.id })
    }

    @Test("about many boards are one for each owner, and are no board's")
    func many() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        for owner in [ada, bob] {
            for _ in 0..<6 { _ = try await house.provisioned(BoardDouble(), by: owner) }
        }
        var watch = Evaluation(house)
        house.clock.advance(.seconds(900))
        try await watch.round()
        let summaries = try await list(house, ada, everyone: true).filter { $0.board == nil }
        #expect(summaries.count == 2)
        #expect(Set(summaries.map(\.owner)).count == 2)
        #expect(summaries.allSatisfy { $0.owner != nil && $0.text.hasPrefix("6 boards") })
        #expect(try await list(house, bob).count == 6)
        try await watch.round()
        #expect(try await list(house, ada, everyone: true).count == 14)
        #expect(try await house.store.tally().openAlerts == ["board-offline": 12])
    }

    @Test("of an expired session are opened, whether it was swept or not")
    func expired() async throws {
        let house = try await House()
        let ada = try await house.login()
        _ = try await house.provisioned(BoardDouble(), by: ada, duration: .seconds(600))
        var watch = Evaluation(house)
        house.clock.advance(.seconds(601))
        try await watch.round()
        #expect(try await list(house, ada).map(\.kind) == [.sessionExpired])
        while try await house.authority.sweep() {}
        try await watch.round()
        #expect(try await list(house, ada).map(\.kind) == [.sessionExpired])
    }

    @Test("of a revoked session are not opened")
    func revoked() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.authority.revoke(live.session, by: ada)
        var watch = Evaluation(house)
        house.clock.advance(.seconds(86_400))
        try await watch.round()
        #expect(try await list(house, ada).isEmpty)
    }

    @Test("leave a message for each channel, in order, which is tried for a day")
    func messages() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let authority = house.authority
        var watch = Evaluation(house)
        house.clock.advance(.seconds(900))
        try await watch.round([.webhook, .email])
        let first = try #require(try await authority.dueMessages(on: .webhook).first)
        #expect(first.number == 1)
        #expect(first.state == .opened)
        #expect(try await authority.dueMessages(on: .email).map(\.alert) == [first.alert])
        #expect(try await authority.dueMessages(on: .ntfy).isEmpty)
        #expect(try await authority.noteDelivery(of: first, failure: "HTTP: status 500"))
        #expect(try await authority.dueMessages(on: .webhook).isEmpty)
        // Resolved meanwhile: the second message waits for the first.
        _ = try await live.tell(.sample(1))
        house.clock.advance(.seconds(300))
        try await watch.round([.webhook, .email])
        let again = try #require(try await authority.dueMessages(on: .webhook).first)
        #expect(again.number == 1)
        #expect(again.tries == 1)
        #expect(try await !authority.noteDelivery(of: again, failure: nil))
        let second = try await authority.dueMessages(on: .webhook)
        #expect(second.map(\.number) == [2])
        #expect(second.map(\.state) == [.resolved])
        try await authority.noteDelivery(of: try #require(second.first), failure: nil)
        #expect(try await authority.dueMessages(on: .webhook).isEmpty)
        let outcome = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.alertDeliveries()
        }
        #expect(outcome == [
            AlertDelivery(channel: .webhook, at: house.clock.now, failure: nil),
        ])
        house.clock.advance(.seconds(86_401))
        while try await authority.sweep() {}
        #expect(try await authority.dueMessages(on: .email).isEmpty)
    }

    @Test("are tried again after one minute, then twice as long, up to an hour, for a day")
    func backOff() async throws {
        let start = Timestamp(milliseconds: 1_700_000_000_000)
        let alert = Alert(
            id: try MessageID.fresh(), kind: .refusals, board: nil, boardName: "", text: "",
            details: [:], openedAt: start)
        var message: AlertMessage? = AlertMessage(
            alert: alert, channel: .ntfy, number: 1, state: .opened, nextTry: start,
            until: start + AlertMessage.patience)
        var waits: [Int64] = []
        var now = start
        while let current = message {
            message = current.afterFailure(at: now)
            guard let message else { break }
            waits.append((message.nextTry - now).components.seconds / 60)
            now = message.nextTry
        }
        #expect(waits.prefix(7) == [1, 2, 4, 8, 16, 32, 60])
        #expect(waits.dropFirst(6).allSatisfy { $0 == 60 })
        #expect(now - start < AlertMessage.patience)
        #expect(now - start > AlertMessage.patience - .seconds(3601))
    }
}
