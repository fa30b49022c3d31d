import MQTT
import Sessions

/// The connection of one board to the broker.
final class FleetUplink {
    enum Phase {
        case idle
        case connecting
        /// The broker has let it in.
        case open
    }

    var connection: Connection?
    var phase = Phase.idle
    /// When a try is given up.
    var deadline: Duration?
    /// What the present try logs in by.
    var password: SecretBytes?
    /// The packet that subscribes the inbox.
    var subscription: Int32?
    /// The writes that wait for their PUBACK, by packet.
    var writes: [Int32: Int64] = [:]
    /// What the readiness queue knows of it.
    var watched: (descriptor: Int32, read: Bool, write: Bool)?
    /// Whether it is among those to be written.
    var isDirty = false
    private var queue: [(message: OutgoingMessage, sequence: Int64?)] = []
    private var head = 0

    func add(_ message: OutgoingMessage, _ sequence: Int64?) { queue.append((message, sequence)) }

    /// Frees the connection; a broker that heard no DISCONNECT publishes the last will.
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

    /// Gives the connection what it has room for.
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

    /// When it wants to be looked at, by the monotonic clock.
    func due(at now: Duration) -> Duration? {
        let tick = connection?.nextTick.map { now + max($0, .milliseconds(10)) }
        let buffered = connection?.hasBufferedInput == true ? now : nil
        return [tick, deadline, buffered].compactMap(\.self).min()
    }
}
