import AuthorityCore
import AuthorityStore
import Logging
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("A line of chores")
struct ChoreLineTests {
    private func courier(_ house: House, _ store: any ServiceStore) throws -> BrokerCourier {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let link = BrokerLink(
            login: BrokerLink.BrokerLogins(
                uri: try BrokerURI("mqtt://127.0.0.1:1"), clientID: "t", username: nil,
                password: nil, caFile: nil, isAlone: false),
            logger: logger)
        return BrokerCourier(
            link: link, root: .standard, access: .commanded, consumerAccess: nil,
            logger: logger, desk: house.authority, holds: LineHolds(store: store))
    }

    @Test("is left to whoever is at it, and waited for")
    func held() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.claim(board, by: ada)
        let server = SharedServer()
        let line = board.installation.description
        let other = try #require(
            try await SharedStore(house.store, server).hold("line \(line)"))
        let courier = try courier(house, SharedStore(house.store, server))
        // It has no broker: what it did itself would fail.
        async let settled: Void = courier.settle(line)
        for chore in try await house.authority.chores(in: line) {
            try await house.authority.done(chore)
        }
        try await settled
        await other.release()
        #expect(server.held.isEmpty)
    }

    @Test("is let go when it cannot be done")
    func released() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.claim(board, by: ada)
        let server = SharedServer()
        let courier = try courier(house, SharedStore(house.store, server))
        await #expect(throws: AuthorityError.self) {
            try await courier.settle(board.installation.description)
        }
        #expect(server.held.isEmpty)
    }

    @Test("has a chore again that two did at once, since the later may have come too late")
    func overlapping() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.claim(board, by: ada)
        let line = board.installation.description
        let chores = try await house.authority.chores(in: line)
        for chore in chores { try await house.authority.done(chore) }
        #expect(try await house.authority.chores(in: line).isEmpty)
        for chore in chores { try await house.authority.done(chore) }
        let again = try await house.authority.chores(in: line)
        #expect(again.map(\.chore) == chores.map(\.chore))
    }
}
