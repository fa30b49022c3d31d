import LinuxIO
import MQTT
import Testing
import Wire

/// A connection with a poll loop around it, run until a test has what it waits for.
final class TestClient {
    var connection: Connection
    /// Everything that has happened.
    private(set) var events: [ConnectionEvent] = []
    /// How often the poll woke.
    private(set) var wakeups = 0
    /// How many messages one read files.
    var readLimit = 500
    private var poller = Poller()
    private var buffer: [ConnectionEvent] = []

    /// Starts to connect; `connected` runs it until the broker has answered.
    init(_ options: ConnectOptions) throws {
        connection = try Connection(options)
        try connection.connect()
    }

    static func connected(_ options: ConnectOptions) throws -> TestClient {
        let client = try TestClient(options)
        try client.run { $0.isConnected }
        return client
    }

    var ack: ConnectAck? { connection.ack }
    var isConnected: Bool { connection.isConnected }
    var hasEnded: Bool { connection.hasEnded }
    var hasQueuedWrites: Bool { connection.hasQueuedWrites }
    var unacknowledged: Int { connection.unacknowledged }
    var descriptor: Int32? { connection.descriptor }

    var messages: [IncomingMessage] {
        events.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    var topics: [String] { messages.map(\.topic) }

    var end: MQTTError? { events.lazy.compactMap(\.failure).first }

    /// Runs the loop until `condition`, 20 s at most; without `writing`, nothing is sent.
    func run(
        for limit: Duration = .seconds(20), writing: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: (TestClient) -> Bool
    ) throws {
        let deadline = SystemClock.monotonic + limit
        while !condition(self) {
            guard SystemClock.monotonic < deadline else {
                throw TestFailure("waited in vain at \(sourceLocation); saw \(events.suffix(5))")
            }
            try turn(writing: writing, deadline)
        }
    }

    /// Runs it for a time in which nothing is waited for.
    func idle(for limit: Duration) throws {
        let deadline = SystemClock.monotonic + limit
        while SystemClock.monotonic < deadline { try turn(writing: true, deadline) }
    }

    /// What an attempt fails on, at once or later; `nil` when it has not.
    static func failure(_ options: ConnectOptions) throws -> MQTTError? {
        do {
            return try TestClient(options).ended()
        } catch let error as MQTTError {
            return error
        }
    }

    /// Runs it until it ends, and says how.
    func ended() throws -> MQTTError? {
        try run { $0.hasEnded }
        return end
    }

    func subscribe(_ filter: String, _ qos: QoS = .atLeastOnce) throws {
        let packetID = try connection.subscribe([Subscription(filter, qos)])
        try run { client in
            client.events.contains {
                if case .subscribed(packetID, [qos.rawValue]) = $0 { true } else { false }
            }
        }
    }

    func unsubscribe(_ filter: String) throws {
        let packetID = try connection.unsubscribe([filter])
        try run { client in
            client.events.contains {
                if case .unsubscribed(packetID) = $0 { true } else { false }
            }
        }
    }

    /// Publishes and waits for the PUBACK; returns its reason code.
    @discardableResult
    func publish(_ message: OutgoingMessage) throws -> UInt8? {
        let packetID = try connection.publish(message)
        var result: UInt8?
        try run { client in
            for case .published(packetID, let code) in client.events { result = code }
            return result != nil
        }
        return result
    }

    func publish(_ topics: [String], _ payload: [UInt8] = []) throws {
        for topic in topics { try publish(OutgoingMessage(topic: topic, payload: payload)) }
    }

    func disconnect() throws {
        try connection.disconnect()
        try run { $0.hasEnded }
    }

    private func turn(writing: Bool, _ deadline: Duration) throws {
        if let descriptor = connection.descriptor {
            let interest = connection.interest
            poller.clear()
            poller.add(descriptor, read: interest.read, write: interest.write && writing)
            let left = max(.zero, deadline - SystemClock.monotonic)
            let timeout = min(left, connection.nextTick ?? left)
            _ = try poller.wait(connection.hasBufferedInput ? .zero : timeout)
            wakeups += 1
            if connection.nextTick == .zero { try connection.tick() }
            try connection.read(atMost: readLimit)
        }
        connection.takeEvents(into: &buffer)
        events += buffer
        if writing, !connection.hasEnded { try connection.write() }
        connection.takeEvents(into: &buffer)
        events += buffer
    }
}

/// Options that most tests start from.
func options(
    _ uri: BrokerURI, _ clientID: String = "test", durable: Bool = false
) -> ConnectOptions {
    ConnectOptions(uri: uri, clientID: clientID, cleanStart: !durable,
                   sessionExpiry: durable ? .max : 0)
}
