import AuthorityCore
import AuthorityStore
import Logging
import Sessions
import Testing
import Wire

import AuthorityBroker

@Suite("A line of jobs")
struct JobLineTests {
    private func worker(_ house: House, _ store: any ServiceStore) throws -> BrokerWorker {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let link = BrokerLink(
            login: BrokerLink.BrokerLogins(
                uri: try BrokerURI("mqtt://127.0.0.1:1"), clientID: "t", username: nil,
                password: nil, caFile: nil, isAlone: false),
            logger: logger)
        return BrokerWorker(
            link: link, root: .standard, access: .commanded, consumerAccess: nil,
            logger: logger, authority: house.authority, holds: SharedJobLocks(store: store))
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
        let worker = try worker(house, SharedStore(house.store, server))
        // It has no broker: what it did itself would fail.
        async let settled: Void = worker.settle(line)
        for job in try await house.authority.jobs(in: line) {
            try await house.authority.done(job)
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
        let worker = try worker(house, SharedStore(house.store, server))
        await #expect(throws: AuthorityError.self) {
            try await worker.settle(board.installation.description)
        }
        #expect(server.held.isEmpty)
    }

    @Test("has a job again that two did at once, since the later may have come too late")
    func overlapping() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.claim(board, by: ada)
        let line = board.installation.description
        let jobs = try await house.authority.jobs(in: line)
        for job in jobs { try await house.authority.done(job) }
        #expect(try await house.authority.jobs(in: line).isEmpty)
        for job in jobs { try await house.authority.done(job) }
        let again = try await house.authority.jobs(in: line)
        #expect(again.map(\.job) == jobs.map(\.job))
    }
}
