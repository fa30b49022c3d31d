import AuthorityBroker
import AuthorityCore
import MQTT
import Sessions
import Testing
import Wire

@Suite("A consumer's login at an external broker", .serialized)
struct ConsumerBrokerTests {
    @Test("comes back when the broker lost it, and goes when no consumer has it")
    func reconciled() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let house = try await RunningHouse(broker: broker)
        let ada = try await house.login()
        let made = try await house.authority.addConsumer(
            ConsumerOrder(name: #require(ConsumerName("hall"))), by: ada)
        let login = made.login
        #expect(login.filters == ["postern/v1/+/data/#", "postern/v1/+/status"])
        let link = try await house.connect(
            login.username, login.password, clientID: login.clientID)
        let codes = try await link.client.subscribe(login.filters.map { Subscription($0) })
        #expect(codes.allSatisfy { $0 < 0x80 })
        await broker.stop()
        try await untilTrue { link.hasEnded }

        let removed = BrokerReader.consumer(try #require(ObjectID("AAAAAAAAAA"))).username
        let old = SecretBytes("of a consumer that was removed")
        try await broker.start(accounts: [
            BrokerAccount(
                username: removed, password: old, clientID: "postern-\(removed)",
                role: BrokerRole(reader: removed, filters: ["postern/v1/+/data/#"]),
                owner: BrokerAccount.mark(.standard))
        ])
        let again = try await until {
            try? await house.connect(login.username, login.password, clientID: login.clientID)
        }
        let granted = try await again.client.subscribe(login.filters.map { Subscription($0) })
        #expect(granted.allSatisfy { $0 < 0x80 })
        try await untilTrue {
            await (try? house.connect(removed, old, clientID: "postern-\(removed)")) == nil
        }
        #expect(try await house.authority.removeConsumer(made.consumer.name, by: ada))
        try await untilTrue { again.hasEnded }
        await house.stop()
        await broker.stop()
    }
}
