import MQTT
import Testing
import Wire

/// A client that acknowledges when its program says so.
@Suite("Broker client with batches")
struct BatchTests {
    private let subscription = Subscription("a/#")

    private func connect(
        _ broker: TestBroker, receiveMaximum: UInt16 = 64
    ) async throws -> BrokerClient {
        try await BrokerClient.connect(
            ConnectOptions(
                uri: try broker.uri, clientID: "batches", cleanStart: false, sessionExpiry: 600,
                receiveMaximum: receiveMaximum),
            batches: BatchLimit(messages: 32, bytes: 1 << 20))
    }

    private func publish(_ numbers: Range<Int>, to broker: TestBroker) async throws {
        let client = try await BrokerClient.connect(
            ConnectOptions(uri: try broker.uri, clientID: "program"))
        for number in numbers {
            let message = OutgoingMessage(topic: "a/b", payload: Array("\(number)".utf8))
            #expect(try await client.publish(message) == 0)
        }
        await client.close()
    }

    /// Reads batches until `count` messages came, and acknowledges all but the last batch.
    private func read(_ count: Int, from client: BrokerClient) async -> [[Int]] {
        var batches: [[Int]] = []
        for await event in client.events {
            guard case .batch(let messages) = event else { break }
            batches.append(messages.map { Int(String(decoding: $0.payload, as: UTF8.self)) ?? -1 })
            if batches.joined().count >= count { break }
            client.acknowledge()
        }
        return batches
    }

    @Test("gets the next batch only after it acknowledged the last one", .timeLimit(.minutes(5)))
    func order() async throws {
        let broker = try TestBroker()
        let client = try await connect(broker)
        #expect(try await client.subscribe([subscription]) == [1])
        try await publish(0..<500, to: broker)
        let batches = await read(500, from: client)
        #expect(Array(batches.joined()) == Array(0..<500))
        #expect(batches.allSatisfy { $0.count <= 32 })
        client.acknowledge()
        await client.close()
    }

    @Test("gets what it did not acknowledge again, and nothing else", .timeLimit(.minutes(5)))
    func again() async throws {
        let broker = try TestBroker()
        let first = try await connect(broker)
        try await first.subscribe([subscription])
        // As many as are read. If data were unread at the end, TCP would answer with a reset,
        // and the broker would lose PUBACKs that it had not read.
        try await publish(0..<40, to: broker)
        let seen = await read(40, from: first)
        // The last batch has no PUBACK, and DISCONNECT does not bring one.
        await first.close()
        let done = seen.dropLast().joined().count
        let second = try await connect(broker)
        #expect(second.ack.sessionPresent)
        let rest = await read(40 - done, from: second)
        #expect(Array(rest.joined()) == Array(done..<40))
        await second.close()
    }

    @Test("subscribes while what its session kept comes", .timeLimit(.minutes(5)))
    func resumed() async throws {
        let broker = try TestBroker()
        let first = try await connect(broker)
        try await first.subscribe([subscription])
        await first.close()
        try await publish(0..<100, to: broker)
        let second = try await connect(broker)
        async let codes = second.subscribe([subscription], sendRetained: false)
        let batches = await read(100, from: second)
        #expect(Array(batches.joined()) == Array(0..<100))
        second.acknowledge()
        #expect(try await codes == [1])
        await second.close()
    }

    @Test("ends at once while a batch waits", .timeLimit(.minutes(5)))
    func closing() async throws {
        let broker = try TestBroker()
        let client = try await connect(broker)
        try await client.subscribe([subscription])
        try await publish(0..<10, to: broker)
        _ = await read(1, from: client)
        await #expect(throws: MQTTError.notConnected) {
            async let code = client.publish(OutgoingMessage(topic: "c", payload: []))
            await client.close()
            return try await code
        }
    }
}
