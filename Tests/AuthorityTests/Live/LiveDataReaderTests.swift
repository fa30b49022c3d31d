import AuthorityCore
import MQTT
import Sessions
import Testing
import Wire

@testable import AuthorityBroker
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
        let account = try LiveDataReader.account(keys: house.authority.ownKeys, root: .standard)
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

    @Test("clears what a board retains as it comes, and is not told so as news")
    func retained() async throws {
        let house = try await RunningHouse()
        let board = try BoardDouble()
        let link = try await admit(board, in: house)
        let topic = "postern/v1/\(board.installation)/data/Reading/create"
        for number in 0..<1500 {
            let code = try await link.client.publish(OutgoingMessage(
                topic: "\(topic)/\(number)", payload: [0x31], retain: true))
            #expect(code < 0x80)
        }
        try await untilTrue { try await kept(of: board, in: house) == 0 }
        #expect(house.server.live.lastData(of: board.installation) == nil)
        // What is not retained is news as before.
        try await untilTrue {
            _ = try await link.publish(topic, [0x31])
            return house.server.live.lastData(of: board.installation) != nil
        }
        await link.client.close()
        await house.stop()
    }

    @Test("clears what was retained while it was away")
    func retainedBefore() async throws {
        let broker = try ExternalBroker()
        let board = try BoardDouble()
        try await broker.start(accounts: [try account(of: board)])
        let options = ConnectOptions(
            uri: try BrokerURI("mqtt://127.0.0.1:\(broker.port)"),
            clientID: "postern-\(board.installation)", cleanStart: true, sessionExpiry: 0,
            username: "\(board.installation)", password: try board.brokerPassword)
        let client = try await until { try? await BrokerClient.connect(options) }
        let code = try await client.publish(OutgoingMessage(
            topic: "postern/v1/\(board.installation)/data/Reading/create", payload: [0x31],
            retain: true))
        #expect(code < 0x80)
        await client.close()
        let house = try await RunningHouse(broker: broker)
        try await untilTrue {
            (try? await kept(of: board, in: house)) == 0
        }
        await house.stop()
        await broker.stop()
    }

    /// How many messages the broker keeps on a board's data topics.
    private func kept(of board: BoardDouble, in house: RunningHouse) async throws -> Int {
        let account = try LiveDataReader.account(keys: house.authority.ownKeys, root: .standard)
        let link = try await house.connect(
            account.username, account.password, clientID: "a reader")
        let filter = "postern/v1/\(board.installation)/data/#"
        try await link.client.subscribe([Subscription(filter)])
        // It is sent before the answer to what is asked after it.
        try await link.client.unsubscribe([filter])
        await link.client.close()
        try await untilTrue { link.hasEnded }
        return link.retainedMessages
    }

    private func account(of board: BoardDouble) throws -> BrokerAccount {
        BrokerAccount(
            username: "\(board.installation)", password: try board.brokerPassword,
            clientID: "postern-\(board.installation)",
            role: BrokerRole(
                board: board.installation, root: .standard, data: true, extraTopics: []),
            owner: nil)
    }

    private func admit(_ board: BoardDouble, in house: RunningHouse) async throws -> Listener {
        let account = try account(of: board)
        _ = try await until { try? await house.server.link.control(account.creation) }
        return try await until { try? await house.connect(board) }
    }

    @Test("takes no time from boards' requests, however much data comes")
    func flood() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let loud = try BoardDouble()
        let link = try await admit(loud, in: house)
        let flood = Task {
            let data = OutgoingMessage(
                topic: "postern/v1/\(loud.installation)/data/Reading/create",
                payload: Array(#"{"celsius":21.5,"at":{"lat":1,"lon":2}}"#.utf8),
                qos: .atMostOnce)
            while !Task.isCancelled { _ = try await link.client.publish(data) }
        }
        let count = { house.server.live.minutes(of: loud.installation).messages.reduce(0, +) }
        try await untilTrue { count() > 1000 }
        for _ in 0..<5 { _ = try await house.provisioned(try BoardDouble(), by: ada) }
        #expect(count() > 1000)
        flood.cancel()
        _ = try? await flood.value
        await link.client.close()
        await house.stop()
    }

    /// Lets a program send a board's data and waits until it is live.
    private func hear(in house: RunningHouse) async throws {
        let board = try BoardDouble()
        let topic = "postern/v1/\(board.installation)/data/Reading/create"
        let link = try await admit(board, in: house)
        try await untilTrue {
            _ = try await link.publish(topic, Array(#"{"celsius":21.5}"#.utf8))
            return house.server.live.lastData(of: board.installation) != nil
        }
        let live = house.server.hub.live(of: board.installation)
        #expect(live.newest.first?.field == "celsius")
        #expect(live.newest.first?.value == .number(21.5))
        #expect(try #require(live.minutes).messages.reduce(0, +) > 0)
        await link.client.close()
    }
}
