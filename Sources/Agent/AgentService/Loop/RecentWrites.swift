import Gate

/// The writes that were queued last, so that they need not be read back and decrypted to be
/// sent. Bounded; what it does not have stands on disk.
struct RecentWrites {
    private static let countLimit = 1024
    private static let byteLimit = 512 << 10

    /// Everything that was appended since the first of them, in order, from `start` on.
    private var writes: [AcceptedWrite] = []
    private var start = 0
    private var bytes = 0

    mutating func append(_ new: [AcceptedWrite]) {
        writes += new
        for index in new.indices { bytes += new[index].payload.count }
        while start < writes.count,
            writes.count - start > Self.countLimit || bytes > Self.byteLimit
        {
            bytes -= writes[start].payload.count
            start += 1
        }
        compact()
    }

    /// The writes after `sequence`, at most `limit`; nil when older ones may stand on disk.
    mutating func next(after sequence: Int64, limit: Int) -> ArraySlice<AcceptedWrite>? {
        guard start < writes.count, writes[start].sequence <= sequence &+ 1 else { return nil }
        while start < writes.count, writes[start].sequence <= sequence {
            bytes -= writes[start].payload.count
            start += 1
        }
        compact()
        return writes[start...].prefix(limit)
    }

    /// Something else than an append has changed the queue.
    mutating func removeAll() {
        writes.removeAll(keepingCapacity: true)
        start = 0
        bytes = 0
    }

    private mutating func compact() {
        if start == writes.count {
            removeAll()
        } else if start >= Self.countLimit {
            writes.removeFirst(start)
            start = 0
        }
    }
}
