import Foundation
import FreePorts
import LinuxIO
import MQTT
import Testing
import Wire

@Suite("Broker client")
struct BrokerClientTests {
    @Test("publishes, subscribes and hands on what comes")
    func messages() async throws {
        let broker = try TestBroker()
        let uri = try BrokerURI("mqtt://localhost:\(broker.port)")
        let client = try await BrokerClient.connect(options(uri))
        #expect(client.ack.version == .v5 && client.isConnected)
        #expect(try await client.subscribe([Subscription("a/#")]) == [1])
        let codes = try await withThrowingTaskGroup(of: UInt8.self) { group in
            for number in 0..<3000 {
                group.addTask {
                    try await client.publish(OutgoingMessage(topic: "a/\(number)", payload: []))
                }
            }
            return try await group.reduce(into: Set<UInt8>()) { $0.insert($1) }
        }
        #expect(codes == [0])
        var topics: Set<String> = []
        for await event in client.events {
            guard case .message(let message) = event else { break }
            topics.insert(message.topic)
            if topics.count == 3000 { break }
        }
        #expect(topics.count == 3000 && client.droppedMessages == 0)
        try await client.unsubscribe(["a/#"])
        await #expect(throws: MQTTError.self) {
            try await client.publish(OutgoingMessage(topic: "#", payload: []))
        }
        await client.close()
        await client.close()
        await #expect(throws: MQTTError.notConnected) {
            try await client.publish(OutgoingMessage(topic: "a", payload: []))
        }
    }

    @Test("throws what the way to the broker failed on")
    func failures() async throws {
        let port = try FreePort.next()
        let cases = [("mqtt://127.0.0.1:\(port)", Layer.tcp), ("unix:/tmp/none.sock", .tcp),
                     ("mqtt://no-such-host.invalid", .nameLookup)]
        for (text, layer) in cases {
            let uri = try BrokerURI(text)
            let error = await #expect(throws: MQTTError.self) {
                _ = try await BrokerClient.connect(options(uri), timeout: .seconds(30))
            }
            #expect(error?.layer == layer)
        }
    }

    @Test("waits no longer than it was told to")
    func timeout() async throws {
        let silent = try FakeBroker { _ in [] }
        let uri = try BrokerURI("mqtt://127.0.0.1:\(silent.port)")
        await #expect(throws: MQTTError.mqtt("no answer in time", reasonCode: 0)) {
            _ = try await BrokerClient.connect(options(uri), timeout: .seconds(2))
        }
    }

    @Test("falls back to 3.1.1 and says so", arguments: [
        [0x20, 0x02, 0, 1],
        // It hangs up, as RabbitMQ 3.10 does.
        nil,
    ] as [[UInt8]?])
    func fallback(refusal: [UInt8]?) async throws {
        let broker = try FakeBroker { packet in
            guard packet.first == 0x10 else { return nil }
            return packet.dropFirst(8).first == 5 ? refusal : [0x20, 0x02, 0, 0]
        }
        let uri = try BrokerURI("mqtt://127.0.0.1:\(broker.port)")
        let client = try await BrokerClient.connect(options(uri))
        #expect(client.ack.version == .v311)
        await client.close()
    }

    @Test("ends everything that waits when the broker goes")
    func brokerDies() async throws {
        // Answers CONNECT and nothing else.
        let broker = try FakeBroker { $0.first == 0x10 ? FakeBroker.welcome : nil }
        let uri = try BrokerURI("mqtt://127.0.0.1:\(broker.port)")
        let client = try await BrokerClient.connect(options(uri))
        await #expect(throws: MQTTError.self) {
            try await client.publish(OutgoingMessage(topic: "a", payload: []))
        }
        var last: BrokerClientEvent?
        for await event in client.events { last = event }
        guard case .disconnected(.tcp) = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        #expect(!client.isConnected)
        await client.close()
    }
}

@Suite("Broker client thread", .serialized)
struct BrokerClientThreadTests {
    @Test("is gone after close, and after its client was freed")
    func leaks() async throws {
        let broker = try TestBroker()
        let before = OpenDescriptors.sockets(to: broker)
        for _ in 0..<20 {
            let client = try await BrokerClient.connect(options(broker.socketURI, "leak"))
            await client.close()
        }
        try await wait(broker, before)
        for _ in 0..<20 {
            _ = try await BrokerClient.connect(options(broker.socketURI, "leak"))
        }
        try await wait(broker, before)
    }

    /// The broker closes its ends in its own time.
    private func wait(_ broker: TestBroker, _ count: Int) async throws {
        let deadline = SystemClock.monotonic + .seconds(30)
        while OpenDescriptors.sockets(to: broker) > count {
            try #require(SystemClock.monotonic < deadline)
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

/// What this process holds open towards one broker.
enum OpenDescriptors {
    /// Connected ends of the broker's Unix socket, as the kernel lists them.
    static func sockets(to broker: TestBroker) -> Int {
        let list = try? String(contentsOfFile: "/proc/net/unix", encoding: .utf8)
        let lines = list?.split(separator: "\n") ?? []
        return lines.count { $0.hasSuffix(broker.folder + "/broker.sock") }
    }
}
