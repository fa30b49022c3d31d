import Gate
import Mosquitto
import Sessions

/// Carries queued writes upstream, in order, with a bounded number unacknowledged.
///
/// A write leaves the queue only after a successful PUBACK. Booked by its own sequence
/// number: a packet id says only which of those in flight is meant.
struct Forwarder {
    /// More in flight brings no more speed, and libmosquitto's search for the next is linear.
    private static let windowLimit = Connection.inFlightWindow

    /// Whose writes may leave; nil: none.
    private var user: UserID?
    /// The last sequence handed to the connection.
    private var cursor: Int64 = 0
    private var inFlight: [Int32: Int64] = [:]
    private var acknowledged: [Int64] = []
    /// How often the broker has refused a write; it is kept and tried again.
    private(set) var refusals: Int64 = 0

    /// Opens or closes the way. Closed, what was in flight will be sent again.
    mutating func forward(_ user: UserID?) {
        guard user != self.user else { return }
        self.user = user
        inFlight.removeAll()
        cursor = 0
    }

    /// Books outcomes. Throws when the broker refused a write: it stays in the queue.
    mutating func settle(_ outcomes: [(packetID: Int32, reasonCode: UInt8)]) throws(MQTTError) {
        for (packetID, reasonCode) in outcomes {
            guard let sequence = inFlight.removeValue(forKey: packetID) else { continue }
            guard reasonCode < 0x80 else {
                refusals += 1
                throw .mqtt("the broker refused a write", reasonCode: reasonCode)
            }
            acknowledged.append(sequence)
        }
    }

    /// What can be removed from the queue now.
    mutating func takeAcknowledged() -> [Int64] {
        defer { acknowledged.removeAll(keepingCapacity: true) }
        return acknowledged
    }

    /// How many more writes the connection takes.
    func room(window: Int) -> Int {
        user == nil ? 0 : max(0, min(window, Self.windowLimit) - inFlight.count)
    }

    /// The writes to send next are those after this sequence.
    var position: Int64 { cursor }

    /// Whether this write may leave: another user's never does.
    func mayForward(_ write: AcceptedWrite) -> Bool { write.user == user }

    mutating func sent(_ sequence: Int64, as packetID: Int32) {
        cursor = sequence
        inFlight[packetID] = sequence
    }

    mutating func skip(_ sequence: Int64) { cursor = sequence }
}

extension AcceptedWrite {
    /// The write as it goes upstream. Source: the wire contract, Topics.
    var message: OutgoingMessage {
        OutgoingMessage(
            topic: topic, payload: payload, qos: .atLeastOnce, retain: false,
            properties: MessageProperties(userProperties: [
                UserProperty("sid", session.description),
                UserProperty("seq", String(sequence)),
                UserProperty("ts", String(acceptedAt.milliseconds)),
                UserProperty("app", app.description),
            ]))
    }
}
