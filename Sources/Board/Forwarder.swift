import Gate
import Mosquitto
import Sessions

/// Carries queued writes upstream, in order, with a bounded number unacknowledged.
///
/// A write leaves the queue only after a successful PUBACK. Booked by its own sequence
/// number: a packet id says only which of those in flight is meant. One that the broker will
/// not take holds up no other: it stays in the queue, and is tried again minutes later.
struct Forwarder {
    /// More in flight brings no more speed, and libmosquitto's search for the next is linear.
    private static let windowLimit = Connection.inFlightWindow
    /// When what was refused is tried again, unless a new connection comes first: soon, since
    /// a new session's role may be a moment behind it, and then less and less often.
    private static let retryAfter = Duration.seconds(10)...Duration.seconds(600)
    /// How long nothing is sent to a broker that has had enough.
    private static let pause = Duration.seconds(60)
    /// How long a broker may acknowledge nothing of what is in flight.
    static let patience = Duration.seconds(60)
    /// So many refused in a row are a broker that has had enough, whatever it says: the queue
    /// is not carried over the network again and again for nothing.
    private static let rowLimit = 100

    /// Whose writes may leave; nil: none.
    private var user: UserID?
    /// The last sequence handed to the connection.
    private var cursor: Int64 = 0
    private var inFlight: [Int32: Int64] = [:]
    /// When something in flight was last acknowledged, or the first of it sent.
    private var lastSign = Duration.zero
    /// What the broker has taken since the last look. Until it has left the queue it must not
    /// be sent again.
    private(set) var acknowledged: [Int64] = []
    private var unremoved: Set<Int64> = []
    /// The first write that was refused since the cursor last stood before it.
    private var firstRefused: Int64?
    private var retryAt: Duration?
    private var retrySpan = Self.retryAfter.lowerBound
    private var pausedUntil: Duration?
    private var refusedInRow = 0
    /// How often a write was refused; it is kept and tried again.
    private(set) var refusals: Int64 = 0
    /// Why the last of them was.
    private(set) var lastRefusal = ""

    /// Opens or closes the way. Closed, what was in flight will be sent again.
    mutating func forward(_ user: UserID?) {
        guard user != self.user else { return }
        self.user = user
        inFlight.removeAll()
        cursor = 0
        firstRefused = nil
        retryAt = nil
        retrySpan = Self.retryAfter.lowerBound
        pausedUntil = nil
        refusedInRow = 0
    }

    /// Books outcomes. What the broker refused stays in the queue.
    mutating func settle(_ outcomes: [(packetID: Int32, reasonCode: UInt8)], at now: Duration) {
        for (packetID, reasonCode) in outcomes {
            guard let sequence = inFlight.removeValue(forKey: packetID) else { continue }
            lastSign = now
            guard reasonCode < 0x80 else {
                let text = ReasonCode.text(reasonCode)
                book(sequence, "the broker refused it: \(text)", at: now)
                if reasonCode == ReasonCode.quotaExceeded { pausedUntil = now + Self.pause }
                continue
            }
            refusedInRow = 0
            acknowledged.append(sequence)
            unremoved.insert(sequence)
        }
    }

    /// Books a write that the connection cannot carry: it is passed over.
    mutating func refuse(_ sequence: Int64, _ text: String, at now: Duration) {
        cursor = sequence
        book(sequence, text, at: now)
    }

    private mutating func book(_ sequence: Int64, _ text: String, at now: Duration) {
        firstRefused = min(firstRefused ?? sequence, sequence)
        if retryAt == nil {
            retryAt = now + retrySpan
            retrySpan = min(retrySpan * 2, Self.retryAfter.upperBound)
        }
        refusals += 1
        lastRefusal = "write \(sequence): \(text)"
        refusedInRow += 1
        if refusedInRow.isMultiple(of: Self.rowLimit) { pausedUntil = now + Self.pause }
    }

    /// Ends a pause, and goes back to what was refused, when it is time.
    mutating func wake(at now: Duration) {
        if let until = pausedUntil, until <= now { pausedUntil = nil }
        if let due = retryAt, due <= now {
            retryAt = nil
            if let first = firstRefused { cursor = min(cursor, first - 1) }
            firstRefused = nil
        }
    }

    /// Whether the connection is to be given up: it stands, but nothing comes back.
    func isStalled(at now: Duration) -> Bool { stallsAt.map { $0 <= now } ?? false }

    private var stallsAt: Duration? { inFlight.isEmpty ? nil : lastSign + Self.patience }

    /// When `wake` has something to do, or the connection is to be given up.
    var nextDeadline: Duration? { [retryAt, pausedUntil, stallsAt].compactMap(\.self).min() }

    /// What has arrived since the last call.
    mutating func takeAcknowledged() -> [Int64] {
        defer { acknowledged.removeAll(keepingCapacity: true) }
        return acknowledged
    }

    /// All that arrived have left the queue.
    mutating func removed() { unremoved.removeAll(keepingCapacity: true) }

    /// Whether all goes: writes may leave, and none waits to be tried again.
    var flows: Bool { user != nil && pausedUntil == nil && firstRefused == nil }

    /// How many more writes the connection takes.
    func room(window: Int) -> Int {
        guard user != nil, pausedUntil == nil else { return 0 }
        return max(0, min(window, Self.windowLimit) - inFlight.count)
    }

    /// The writes to send next are those after this sequence.
    var position: Int64 { cursor }

    /// Whether this write may leave: another user's never does, and none twice at a time.
    func mayForward(_ write: AcceptedWrite) -> Bool {
        write.user == user && !inFlight.values.contains(write.sequence)
            && !unremoved.contains(write.sequence)
    }

    /// Books what was sent. False when its packet id is another's that is still in flight:
    /// no PUBACK could be told apart, so the connection is to be given up.
    @discardableResult
    mutating func sent(_ sequence: Int64, as packetID: Int32, at now: Duration) -> Bool {
        guard inFlight[packetID] == nil else { return false }
        if inFlight.isEmpty { lastSign = now }
        cursor = sequence
        inFlight[packetID] = sequence
        return true
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
