import AuthorityCore
import BrokerClient
import Mosquitto
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("The data tap", .serialized)
struct DataTapTests {
    @Test("hears what boards send, beside the connection that serves them")
    func embedded() async throws {
        let house = try await RunningHouse()
        try await hear(in: house)
        await house.stop()
    }

    @Test("is let in by a broker that is not ours, and again after that lost everything")
    func external() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let house = try await RunningHouse(broker: broker)
        try await hear(in: house)
        await broker.stop()
        try await broker.start(accounts: [])
        try await hear(in: house)
        await house.stop()
        await broker.stop()
    }

    @Test("may read data and nothing else, and write nothing")
    func role() async throws {
        let house = try await RunningHouse()
        let account = try DataTap.account(keys: house.authority.ownKeys, root: .standard)
        let link = try await house.connect(
            account.username, account.password, clientID: "somebody")
        let board = try BoardDouble()
        for filter in [
            "#", "postern/v1/#", "postern/v1/+/status", "postern/v1/+/outbox",
            board.inbox, "$CONTROL/#", "$SYS/#", "$share/authority/postern/v1/+/outbox",
        ] {
            let codes = try await link.client.subscribe([Subscription(filter)])
            #expect(codes.allSatisfy { $0 >= 0x80 }, "\(filter)")
        }
        let codes = try await link.client.subscribe([Subscription("postern/v1/+/data/#")])
        #expect(codes.allSatisfy { $0 < 0x80 })
        for topic in [
            board.inbox, board.outbox, "postern/v1/\(board.installation)/status",
            "postern/v1/\(board.installation)/data/Reading/create", "$CONTROL/dynamic-security/v1",
        ] {
            #expect(try await link.publish(topic, [1]) == ReasonCode.notAuthorized, "\(topic)")
        }
        await link.client.close()
        await house.stop()
    }

    /// Lets a program send a board's data and waits until it is live.
    private func hear(in house: RunningHouse) async throws {
        let board = try BoardDouble()
        let topic = "postern/v1/\(board.installation)/data/Reading/create"
        let account = BrokerAccount(
            username: "\(board.installation)", password: try board.brokerPassword,
            clientID: "postern-\(board.installation)",
            role: BrokerRole(
                board: board.installation, root: .standard, data: true, extraTopics: []),
            owner: nil)
        _ = try await until { try? await house.server.link.control(account.creation) }
        let link = try await until { try? await house.connect(board) }
        try await untilTrue {
            _ = try await link.publish(topic, Array(#"{"celsius":21.5}"#.utf8))
            return house.server.live.lastData(of: board.installation) != nil
        }
        let live = house.server.hub.live(of: board.installation)
        #expect(live.series.first?.field == "celsius")
        #expect(live.series.first?.points.first?.value == 21.5)
        #expect(live.minutes.messages.reduce(0, +) > 0)
        await link.client.close()
    }
}
