import Sessions
import Wire

/// A simulated board's telemetry: what waits to be sent, and what waits for its PUBACK.
///
/// It is kept until the broker has it, over any number of connections, as the agent's outbox
/// does; what is sent again keeps its number.
struct FleetRecords: Sendable {
    struct Record: Sendable {
        let sequence: Int64
        let acceptedAt: Timestamp
    }

    /// When the next one is made.
    var nextAt: Duration?
    private(set) var sequence: Int64 = 0
    private(set) var waiting: [Record] = []
    private var sent: [Int64: Record] = [:]
    private(set) var isHeld = false
    /// Not made, because so many waited already.
    private(set) var skipped = 0

    /// The broker refused one: nothing is sent before.
    private var notBefore = Duration.zero

    /// How many one board keeps, and how many of them are on their way at once.
    static let limit = 1000
    static let window = 20

    var isEmpty: Bool { isHeld || (waiting.isEmpty && sent.isEmpty) }

    /// Makes what is due; the next is due an interval later.
    mutating func make(every interval: Duration, at moment: FleetBoard.Moment) -> Int64? {
        guard let due = nextAt, due <= moment.now, !isHeld else { return nil }
        // After a pause it does not catch up.
        nextAt = max(due + interval, moment.now)
        guard waiting.count + sent.count < Self.limit else {
            skipped += 1
            return nil
        }
        sequence += 1
        waiting.append(Record(sequence: sequence, acceptedAt: moment.wall))
        return sequence
    }

    /// When one may be made, or sent again.
    var due: Duration? {
        guard !isHeld else { return nil }
        let retry = waiting.isEmpty || sent.count >= Self.window ? nil : notBefore
        return [nextAt, retry].compactMap(\.self).min()
    }

    /// The next to be sent, as far as there is room.
    mutating func take(at now: Duration) -> Record? {
        guard !isHeld, now >= notBefore, sent.count < Self.window, !waiting.isEmpty
        else { return nil }
        let record = waiting.removeFirst()
        sent[record.sequence] = record
        return record
    }

    /// The broker has it.
    mutating func acknowledged(_ sequence: Int64) { sent[sequence] = nil }

    /// The broker did not take it: it waits again, five seconds at least.
    mutating func refused(_ sequence: Int64, at now: Duration) {
        notBefore = now + .seconds(5)
        guard let record = sent.removeValue(forKey: sequence) else { return }
        waiting.insert(record, at: 0)
    }

    /// What was on its way is sent again, in order.
    mutating func cutOff() {
        waiting = sent.values.sorted { $0.sequence < $1.sequence } + waiting
        sent.removeAll()
    }

    /// The session is over: what is left stays where it is.
    mutating func hold() {
        isHeld = true
        nextAt = nil
    }
}
