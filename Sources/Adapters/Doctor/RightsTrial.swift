import Gate
import LinuxIO
package import MQTT
import Sessions

/// Tries acts at a broker that a login must not be allowed.
///
/// It changes nothing, even if the broker wrongly allows an act. Messages are not retained and go
/// to topics that nobody uses. Subscriptions last a moment, at QoS 0, in a session that ends with
/// its connection.
package enum RightsTrial {
    package enum Act: Hashable, Sendable {
        case publish(String)
        /// Subscribing to this filter, or receiving a message that matches it.
        case read(String)
    }

    package enum Answer: Equatable, Sendable {
        case refused
        case allowed
        /// The subscription was granted but delivered nothing. Some brokers check rights only at
        /// delivery: mosquitto does so with an access list in a file.
        case silent
        /// The broker did not answer.
        case unknown
    }

    package enum Outcome: Equatable, Sendable {
        case letIn([Act: Answer])
        case keptOut
        /// No MQTT 5 broker answered. The text names the layer.
        case unreachable(String)
    }

    /// A login that may publish a message that the trial must not receive.
    package struct Witness: Sendable {
        package let login: ConnectOptions
        package let topic: String

        package init(_ login: ConnectOptions, says topic: String) {
            self.login = login
            self.topic = topic
        }
    }

    /// How long the trial waits for messages on granted subscriptions.
    private static let listening = Duration.milliseconds(500)

    /// Tries all of `acts`, for at most `patience`. Messages on the `own` topics are allowed.
    package static func run(
        _ acts: [Act], as login: ConnectOptions, own: [String] = [], witness: Witness? = nil,
        patience: Duration = .seconds(5)
    ) -> Outcome {
        let end = SystemClock.monotonic + patience
        // Reads come first, because a broker may end the connection for a publish that it refuses.
        var left = acts.filter(\.isRead) + acts.filter { !$0.isRead }
        var answers: [Act: Answer] = [:]
        var wasLetIn = false
        repeat {
            var isIn = false
            do throws(MQTTError) {
                var talk = TrialConnection(try Connection(login))
                try talk.open(until: end)
                isIn = true
                wasLetIn = true
                while let act = left.first, act.isRead {
                    answers[act] = try talk.answer(to: act, until: end)
                    left.removeFirst()
                }
                try listen(&talk, &answers, own, witness, until: end)
                while let act = left.first {
                    answers[act] = try talk.answer(to: act, until: end)
                    left.removeFirst()
                }
                talk.close()
            } catch {
                guard wasLetIn else {
                    return error.layer == .brokerLogin ? .keptOut : .unreachable("\(error)")
                }
                guard isIn, error.saysWhy, !left.isEmpty else { break }
                answers[left.removeFirst()] = .refused
            }
        } while !left.isEmpty && SystemClock.monotonic < end
        for act in left { answers[act] = .unknown }
        return .letIn(answers)
    }

    private static func listen(
        _ talk: inout TrialConnection, _ answers: inout [Act: Answer], _ own: [String],
        _ witness: Witness?,
        until end: Duration
    ) throws(MQTTError) {
        let granted = answers.filter { $0.value == .silent }.map(\.key)
        guard !granted.isEmpty else { return }
        var wasSaid = false
        if let witness {
            let said = run([.publish(witness.topic)], as: witness.login)
            wasSaid = said == .letIn([.publish(witness.topic): .allowed])
        }
        let heard = try talk.messages(until: min(end, SystemClock.monotonic + listening))
        for act in granted {
            guard case .read(let text) = act, let filter = TopicFilter(text) else { continue }
            if heard.contains(where: { !own.contains($0) && filter.matches($0) }) {
                answers[act] = .allowed
            } else if wasSaid, let topic = witness?.topic, filter.matches(topic) {
                answers[act] = .refused
            }
        }
    }
}

extension RightsTrial.Act {
    fileprivate var isRead: Bool { if case .read = self { true } else { false } }
}

extension MQTTError {
    /// Whether the broker refused with a reason code.
    fileprivate var saysWhy: Bool {
        switch self {
        case .mqtt(_, let code), .brokerLogin(_, let code): code >= 0x80
        default: false
        }
    }
}

/// One connection of a trial.
private struct TrialConnection: ~Copyable {
    private var connection: Connection
    private var poller = Poller()
    /// mosquitto's dynamic-security plugin reads this as an empty list of commands.
    private static let payload = Array(#"{"commands":[]}"#.utf8)

    /// The topics of the received messages.
    private var heard: [String] = []

    init(_ connection: consuming Connection) { self.connection = connection }

    /// Waits until the broker accepts the connection. Only MQTT 5: 3.1.1 does not report refusals.
    mutating func open(until end: Duration) throws(MQTTError) {
        try connection.connect()
        while true {
            for event in try events(until: end) {
                if case .connected = event { return }
            }
        }
    }

    mutating func answer(
        to act: RightsTrial.Act, until end: Duration
    ) throws(MQTTError) -> RightsTrial.Answer {
        let packetID: Int32
        switch act {
        case .publish(let topic):
            packetID = try connection.publish(
                OutgoingMessage(topic: topic, payload: Self.payload, qos: .atLeastOnce))
        case .read(let filter):
            packetID = try connection.subscribe([Subscription(filter, .atMostOnce)])
        }
        while true {
            for event in try events(until: end) {
                switch event {
                case .published(packetID, let code): return code >= 0x80 ? .refused : .allowed
                case .subscribed(packetID, let codes):
                    return codes.allSatisfy { $0 >= 0x80 } ? .refused : .silent
                case .message(let message): heard.append(message.topic)
                default: break
                }
            }
        }
    }

    /// The topics of all messages so far and until `end`.
    mutating func messages(until end: Duration) throws(MQTTError) -> [String] {
        while SystemClock.monotonic < end {
            guard let batch = try eventsInTime(until: end) else { break }
            for case .message(let message) in batch { heard.append(message.topic) }
        }
        return heard
    }

    mutating func close() {
        try? connection.disconnect()
        try? connection.write()
    }

    private mutating func events(until end: Duration) throws(MQTTError) -> [ConnectionEvent] {
        guard let events = try eventsInTime(until: end) else {
            throw .mqtt("no answer in time", reasonCode: 0)
        }
        return events
    }

    /// Nil after the time limit.
    private mutating func eventsInTime(
        until end: Duration
    ) throws(MQTTError) -> [ConnectionEvent]? {
        while SystemClock.monotonic < end, let descriptor = connection.descriptor {
            if connection.hasQueuedWrites { try connection.write() }
            poller.clear()
            let interest = connection.interest
            poller.add(descriptor, read: interest.read, write: interest.write)
            let wait = connection.hasBufferedInput ? .zero : end - SystemClock.monotonic
            _ = try? poller.wait(max(wait, .zero))
            try connection.read(atMost: 64)
            let events = connection.takeEvents()
            for event in events {
                if let failure = event.failure { throw failure }
            }
            if !events.isEmpty { return events }
        }
        return nil
    }
}
