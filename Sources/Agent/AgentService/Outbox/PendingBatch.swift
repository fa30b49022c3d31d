import AgentCore
import Gate

/// Writes that are not safe yet: neither acknowledged upstream nor on disk. Until they are, they
/// are not acknowledged on the bus, and the bus is not read.
struct PendingBatch {
    /// How long to wait for the upstream broker before the writes go to disk.
    static let patience = Duration.milliseconds(50)

    private(set) var writes: [AcceptedWrite] = []
    private(set) var window: [DeliveredPacket] = []
    private(set) var keys: [KeptKey] = []
    private(set) var waiting: Set<Int64> = []
    private(set) var unsent: ArraySlice<AcceptedWrite> = []
    let deadline: Duration

    init(at now: Duration) { deadline = now + Self.patience }

    /// Adds writes to the batch. The deadline stays the same.
    mutating func add(
        _ more: [AcceptedWrite], window: [DeliveredPacket], keys: [KeptKey]
    ) {
        writes += more
        self.window += window
        self.keys += keys
        waiting.formUnion(more.map(\.sequence))
        unsent += more
    }

    /// Takes at most `limit` writes that were not sent yet. Each is returned once.
    mutating func takeUnsent(_ limit: Int) -> ArraySlice<AcceptedWrite> {
        let next = unsent.prefix(limit)
        unsent.removeFirst(next.count)
        return next
    }

    /// Marks a write as acknowledged. Returns false if the write is older than this batch.
    mutating func settle(_ sequence: Int64) -> Bool {
        guard let first = writes.first, sequence >= first.sequence else { return false }
        waiting.remove(sequence)
        return true
    }

    var isSafe: Bool { waiting.isEmpty }

    /// The bytes that the batch may take on disk.
    var bytes: Int {
        writes.reduce(0) { $0 + $1.payload.count + $1.topic.utf8.count + 256 }
    }

    /// The writes without an acknowledgement, which must go to disk.
    var rest: [AcceptedWrite] { writes.filter { waiting.contains($0.sequence) } }
}
