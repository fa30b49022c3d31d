package import LinuxIO
package import MQTT
import Sessions
import Synchronization
package import Wire

/// Reads the fleet's telemetry as an ordinary consumer, and records it in the book.
///
/// Its own thread owns the connection and reconnects when it ends. Meanwhile the broker keeps the
/// messages, as far as it can.
package final class TelemetryReader: Sendable {
    private let options: ConnectOptions
    private let filters: [String]
    private let root: TopicRoot
    private let book: TelemetryRecord
    private let event: EventDescriptor
    private let state = Mutex(State())

    private struct State {
        var isReady = false
        var isEnding = false
        var errors = FaultLedger()
    }

    /// The number of filters in one SUBSCRIBE.
    private static let batch = 100

    package init(
        _ options: ConnectOptions, filters: [String], root: TopicRoot, book: TelemetryRecord
    ) throws(SystemError) {
        var options = options
        options.cleanStart = false
        options.sessionExpiry = 120
        options.receiveMaximum = 10_000
        self.options = options
        self.filters = filters
        self.root = root
        self.book = book
        event = try EventDescriptor()
    }

    var isReady: Bool { state.withLock { $0.isReady } }
    var errors: FaultLedger { state.withLock { $0.errors } }

    func start() throws(SystemError) -> WorkerThread {
        try WorkerThread(name: "telemetry") { self.live() }
    }

    /// Ends the thread. Join it afterwards.
    func end() {
        state.withLock { $0.isEnding = true }
        event.raise()
    }

    private var isEnding: Bool { state.withLock { $0.isEnding } }

    private func live() {
        var poller = Poller()
        while !isEnding {
            do throws(MQTTError) {
                try serve(&poller)
            } catch {
                state.withLock { $0.errors.note(SimulationFault(error)) }
            }
            if state.withLock({ state in
                defer { state.isReady = false }
                return state.isReady
            }) {
                book.readerWent(at: SystemClock.monotonic)
            }
            rest(&poller)
        }
    }

    /// Waits half a second, or until the end.
    private func rest(_ poller: inout Poller) {
        poller.clear()
        poller.add(event.descriptor, read: true, write: false)
        _ = try? poller.wait(.milliseconds(500))
    }

    private func serve(_ poller: inout Poller) throws(MQTTError) {
        var connection = try Connection(options)
        try connection.connect()
        var open = 0
        while !isEnding {
            try turn(&connection, &poller)
            for event in connection.takeEvents() {
                if let failure = event.failure { throw failure }
                switch event {
                case .connected: open = try subscribe(&connection)
                case .subscribed(_, let codes):
                    guard codes.allSatisfy({ $0 < 0x80 }) else {
                        throw .brokerLogin("a subscription was refused", reasonCode: 0x87)
                    }
                    open -= 1
                    if open == 0 { ready() }
                case .message(let message): take(message)
                default: break
                }
            }
            try connection.write()
        }
        try connection.disconnect()
        try connection.write()
    }

    private func ready() {
        state.withLock { $0.isReady = true }
        book.readerCame(at: SystemClock.monotonic)
    }

    private func subscribe(_ connection: inout Connection) throws(MQTTError) -> Int {
        var count = 0
        for start in stride(from: 0, to: filters.count, by: Self.batch) {
            let part = filters[start..<min(start + Self.batch, filters.count)]
            _ = try connection.subscribe(part.map { Subscription($0) })
            count += 1
        }
        return count
    }

    private func turn(
        _ connection: inout Connection, _ poller: inout Poller
    ) throws(MQTTError) {
        guard let descriptor = connection.descriptor else { throw .notConnected }
        let interest = connection.interest
        poller.clear()
        let slot = poller.add(descriptor, read: interest.read, write: interest.write)
        let end = poller.add(event.descriptor, read: true, write: false)
        let wait = connection.hasBufferedInput ? .zero : connection.nextTick
        do throws(SystemError) {
            _ = try poller.wait(min(wait ?? .seconds(1), .seconds(1)))
        } catch {
            throw .tcp("\(error)")
        }
        if poller.isReadable(end) { event.take() }
        if connection.nextTick == .zero { try connection.tick() }
        let isReady = poller.isReadable(slot) || poller.isWritable(slot)
        if isReady || connection.hasBufferedInput { try connection.read(atMost: 1000) }
    }

    private func take(_ message: IncomingMessage) {
        guard !message.retain,
            case .data(let board, _, _)? = ContractTopic(message.topic, under: root)
        else { return }
        let property = message.properties.userProperty
        let number = property("seq").flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        let isWhole = property("ts") != nil && property("app") == FleetPlan.app
        book.see(isWhole ? number : nil, of: board, session: property("sid"))
    }
}
