import LinuxIO
package import MQTT
import Sessions

/// Tests whether a broker accepts a login, and what the login may do.
package enum BrokerLoginTest {
    package enum Answer: Equatable, Sendable {
        case letIn(Rights)
        /// The broker refused the login.
        case refused(String)
        /// No broker answered. The text names the layer.
        case unreachable(String)

        package var isLetIn: Bool { if case .letIn = self { true } else { false } }
        package var rights: Rights? { if case .letIn(let rights) = self { rights } else { nil } }
    }

    /// The tries that the broker refused.
    package struct Rights: Equatable, Sendable {
        package var unsubscribable: [String] = []
        package var unwritable: [String] = []
        /// Whether the broker lacks MQTT 5. Then it acknowledges even the messages that it drops.
        package var isSilent = false

        package init(
            unsubscribable: [String] = [], unwritable: [String] = [], isSilent: Bool = false
        ) {
            self.unsubscribable = unsubscribable
            self.unwritable = unwritable
            self.isSilent = isSilent
        }
    }

    /// Connects and tries to subscribe to `filters`. Publishes an empty message, not retained, to
    /// each of `topics`, and disconnects. It takes at most `patience` in all. Tries without an
    /// answer count as granted.
    package static func knock(
        _ options: ConnectOptions, subscribing filters: [String] = [],
        publishing topics: [String] = [], patience: Duration = .seconds(5)
    ) -> Answer {
        let end = SystemClock.monotonic + patience
        do throws(MQTTError) {
            return try attempt(options, filters, topics, until: end)
        } catch {
            if case .mqtt(_, let code) = error, options.version == .v5,
                code == ReasonCode.unsupportedProtocolVersion
            {
                var older = options
                older.version = .v311
                return knock(
                    older, subscribing: filters, publishing: topics,
                    patience: max(end - SystemClock.monotonic, .zero))
            }
            if case .brokerLogin = error { return .refused("\(error)") }
            return .unreachable("\(error)")
        }
    }

    /// Like `knock`, but only in the MQTT version of `options`, and it throws the failure.
    package static func attempt(
        _ options: ConnectOptions, _ filters: [String] = [], _ topics: [String] = [],
        until end: Duration
    ) throws(MQTTError) -> Answer {
        var trial = Trial(filters, topics)
        var connection = try Connection(options)
        try connection.connect()
        var poller = Poller()
        while SystemClock.monotonic < end, let descriptor = connection.descriptor {
            poller.clear()
            let interest = connection.interest
            poller.add(descriptor, read: interest.read, write: interest.write)
            _ = try? poller.wait(max(end - SystemClock.monotonic, .zero))
            try connection.read(atMost: 64)
            for event in connection.takeEvents() {
                if let failure = event.failure { throw failure }
                try trial.take(event, on: &connection)
            }
            if trial.isOver { break }
            if connection.hasQueuedWrites { try connection.write() }
        }
        guard let rights = trial.rights else { return .unreachable("MQTT: no answer in time") }
        try? connection.disconnect()
        try? connection.write()
        return .letIn(rights)
    }

    /// The requests on one connection, and their answers.
    private struct Trial {
        private let filters: [String]
        private let topics: [String]
        private var subscription: Int32?
        private var publications: [Int32: String] = [:]
        /// Nil until the broker accepts the connection.
        private(set) var rights: Rights?

        init(_ filters: [String], _ topics: [String]) {
            self.filters = filters
            self.topics = topics
        }

        var isOver: Bool { rights != nil && subscription == nil && publications.isEmpty }

        mutating func take(
            _ event: ConnectionEvent, on connection: inout Connection
        ) throws(MQTTError) {
            switch event {
            case .connected(let ack):
                rights = Rights(isSilent: ack.version == .v311)
                if !filters.isEmpty {
                    subscription = try connection.subscribe(
                        filters.map { Subscription($0, .atMostOnce) }, sendRetained: false)
                }
                for topic in topics {
                    let message = OutgoingMessage(topic: topic, payload: [], qos: .atLeastOnce)
                    publications[try connection.publish(message)] = topic
                }
            case .subscribed(let packetID, let codes) where packetID == subscription:
                subscription = nil
                rights?.unsubscribable = zip(filters, codes).filter { $1 >= 0x80 }.map(\.0)
            case .published(let packetID, let code):
                guard let topic = publications.removeValue(forKey: packetID) else { return }
                if code >= 0x80 { rights?.unwritable.append(topic) }
            default: break
            }
        }
    }
}
