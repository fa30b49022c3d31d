import LinuxIO
import MQTT
import Testing
import Wire

@Suite("Acknowledgement")
struct AcknowledgementTests {
    @Test("waits for write: what was only read is delivered again", arguments: ["TCP", "Unix"])
    func deferred(kind: String) throws {
        let broker = try TestBroker()
        let uri = try kind == "TCP" ? broker.uri : broker.socketURI
        let publisher = try TestClient.connected(options(uri, "publisher"))
        let topics = (1...5).map { "app/\($0)" }
        do {
            let agent = try TestClient.connected(options(uri, "agent", durable: true))
            try agent.subscribe("app/#")
            try publisher.publish(topics)
            try agent.run(writing: false) { $0.messages.count == 5 }
            #expect(agent.hasQueuedWrites)
            // The connection is dropped here, as a process that dies drops it.
        }
        do {
            let agent = try TestClient.connected(options(uri, "agent", durable: true))
            #expect(agent.ack?.sessionPresent == true)
            try agent.run(writing: false) { $0.messages.count == 5 }
            #expect(agent.topics == topics)
            // The batch is durable: now the PUBACKs go out.
            try agent.connection.write()
            #expect(!agent.hasQueuedWrites)
            // The answer to a later packet proves that the broker has read the PUBACKs: a new
            // connection of the same name does not wait for what the old one still brings.
            try agent.unsubscribe("nothing")
        }
        let agent = try TestClient.connected(options(uri, "agent", durable: true))
        try publisher.publish(["app/marker"])
        try agent.run { !$0.messages.isEmpty }
        #expect(agent.topics == ["app/marker"])
    }

    @Test("stops at the receive maximum while nothing is written")
    func receiveMaximum() throws {
        let broker = try TestBroker()
        var few = try options(broker.uri, "agent")
        few.receiveMaximum = 10
        let agent = try TestClient.connected(few)
        try agent.subscribe("app/#")
        let publisher = try TestClient.connected(options(broker.uri, "publisher"))
        try publisher.publish((1...30).map { "app/\($0)" })
        try agent.run(writing: false) { $0.messages.count == 10 }
        #expect(throws: TestFailure.self) {
            try agent.run(for: .milliseconds(100), writing: false) { $0.messages.count > 10 }
        }
        try agent.run { $0.messages.count == 30 }
        #expect(agent.topics == (1...30).map { "app/\($0)" })
    }

    @Test("files no more than asked for, and the rest the next time", arguments: [
        // The message that passes the bytes is the last.
        (limit: 3, bytes: 1 << 20), (limit: 100, bytes: 250),
    ])
    func bounded(limit: Int, bytes: Int) throws {
        let broker = try TestBroker()
        var connection = try Connection(options(broker.uri, "agent"))
        try connection.connect()
        try wait(&connection) { $0.isConnected }
        _ = try connection.subscribe([Subscription("app/#")])
        let publisher = try TestClient.connected(options(broker.uri, "publisher"))
        try connection.write()
        try publisher.publish(["other"])
        _ = connection.takeEvents()
        let payload = [UInt8](repeating: 0x61, count: 100)
        try publisher.publish((1...20).map { "app/\($0)" }, payload)
        var counts: [Int] = []
        var messages = 0
        let deadline = SystemClock.monotonic + .seconds(20)
        while messages < 20, SystemClock.monotonic < deadline {
            try connection.read(atMost: limit, bytes: bytes)
            let events = connection.takeEvents()
            let before = messages
            for case .message in events { messages += 1 }
            counts.append(messages - before)
        }
        #expect(messages == 20)
        #expect(counts.allSatisfy { $0 <= 3 })
    }

    @Test("keeps 10,000 messages in order", arguments: ["TCP", "Unix"])
    func order(kind: String) throws {
        let broker = try TestBroker()
        let uri = try kind == "TCP" ? broker.uri : broker.socketURI
        let count = 10_000
        let agent = try TestClient.connected(options(uri, "agent"))
        try agent.subscribe("app/#")
        let publisher = try TestClient.connected(options(uri, "publisher"))
        let payload = [UInt8](repeating: 0x61, count: 200)
        let start = SystemClock.monotonic
        var sent = 0
        while sent < count {
            let room = 500 - publisher.unacknowledged
            for _ in 0..<min(room, count - sent) {
                _ = try publisher.connection.publish(
                    OutgoingMessage(topic: "app/\(sent)", payload: payload))
                sent += 1
            }
            try publisher.run { $0.unacknowledged < 250 }
        }
        try publisher.run { $0.unacknowledged == 0 }
        let published = SystemClock.monotonic
        try agent.run { $0.messages.count >= count || $0.end != nil }
        let received = SystemClock.monotonic
        #expect(agent.topics == (0..<count).map { "app/\($0)" })
        print("\(kind): published in \(published - start), read in \(received - published)")
    }

    private func wait(
        _ connection: inout Connection, until condition: (borrowing Connection) -> Bool
    ) throws {
        let deadline = SystemClock.monotonic + .seconds(20)
        while !condition(connection) {
            try #require(SystemClock.monotonic < deadline)
            try connection.read(atMost: 100)
            try connection.write()
        }
    }
}
