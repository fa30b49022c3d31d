import AgentCore
import Gate

/// Writes that are nowhere safe yet: neither acknowledged upstream nor on disk, so nothing of
/// them is acknowledged on the bus, and nothing more is read there.
struct HeldBatch {
    /// How long the upstream broker may take before they are written to disk.
    static let patience = Duration.milliseconds(50)

    private(set) var writes: [AcceptedWrite]
    private(set) var window: [DeliveredPacket]
    private(set) var waiting: Set<Int64>
    private(set) var unsent: ArraySlice<AcceptedWrite>
    let deadline: Duration

    init(_ writes: [AcceptedWrite], window: [DeliveredPacket], at now: Duration) {
        self.writes = writes
        self.window = window
        waiting = Set(writes.map(\.sequence))
        unsent = writes[...]
        deadline = now + Self.patience
    }

    /// Adds what was read together with the first; the patience with it is the same.
    mutating func add(_ more: [AcceptedWrite], window: [DeliveredPacket]) {
        writes += more
        self.window += window
        waiting.formUnion(more.map(\.sequence))
        unsent += more
    }

    /// The next of them, at most `limit`: they are handed to the connection once.
    mutating func takeUnsent(_ limit: Int) -> ArraySlice<AcceptedWrite> {
        let next = unsent.prefix(limit)
        unsent.removeFirst(next.count)
        return next
    }

    /// Whether this is one of its writes; it waits for it no more.
    mutating func settle(_ sequence: Int64) -> Bool {
        guard let first = writes.first, sequence >= first.sequence else { return false }
        waiting.remove(sequence)
        return true
    }

    var isSafe: Bool { waiting.isEmpty }

    /// What has to go to disk.
    var rest: [AcceptedWrite] { writes.filter { waiting.contains($0.sequence) } }
}
