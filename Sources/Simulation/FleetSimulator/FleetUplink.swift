import MQTT
import Sessions

/// The connection of one board to the broker.
final class FleetUplink {
    enum Phase {
        case idle
        case connecting
        /// The broker has accepted the login.
        case open
    }

    var connection: Connection?
    var phase = Phase.idle
    /// The time at which an attempt is given up.
    var deadline: Duration?
    /// The password of the current attempt.
    var password: SecretBytes?
    /// The packet id of the inbox subscription.
    var subscription: Int32?
    /// The writes that wait for their PUBACK, by packet.
    var writes: [Int32: Int64] = [:]
    /// The registration at the readiness queue.
    var watched: (descriptor: Int32, read: Bool, write: Bool)?
    /// Whether it is in the list of connections to write.
    var isDirty = false
    private var queue: [(message: OutgoingMessage, sequence: Int64?)] = []
    private var head = 0

    func add(_ message: OutgoingMessage, _ sequence: Int64?) { queue.append((message, sequence)) }

    /// Frees the connection. Without a DISCONNECT the broker publishes the last will.
    func drop() {
        connection = nil
        phase = .idle
        (deadline, password, subscription, watched) = (nil, nil, nil, nil)
        writes.removeAll()
        forgetQueue()
    }

    private func forgetQueue() {
        queue.removeAll()
        head = 0
    }

    /// Gives queued messages to the connection, as many as fit.
    func pump() throws(MQTTError) {
        guard phase == .open, connection?.isConnected == true else { return }
        while head < queue.count, (connection?.unacknowledged ?? 0) < Connection.inFlightWindow {
            let (message, sequence) = queue[head]
            head += 1
            guard let packetID = try connection?.publish(message) else { continue }
            writes[packetID] = sequence
        }
        if head == queue.count { forgetQueue() }
    }

    /// The next time at which it needs attention, on the monotonic clock.
    func due(at now: Duration) -> Duration? {
        let tick = connection?.nextTick.map { now + max($0, .milliseconds(10)) }
        let buffered = connection?.hasBufferedInput == true ? now : nil
        return [tick, deadline, buffered].compactMap(\.self).min()
    }
}
