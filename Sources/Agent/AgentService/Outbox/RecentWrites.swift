import Gate

/// A cache of the writes queued last, so that they are sent without reading and decrypting them.
/// Holds at most about 1,024 writes and 512 KiB of payload; older writes are read from disk.
struct RecentWrites {
    private static let countLimit = 1024
    private static let byteLimit = 512 << 10

    /// The cached writes are those from `start` on, in order.
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

    /// Returns at most `limit` writes after `sequence`; nil if the next one may be on disk only.
    mutating func next(after sequence: Int64, limit: Int) -> ArraySlice<AcceptedWrite>? {
        guard start < writes.count, writes[start].sequence <= sequence &+ 1 else { return nil }
        while start < writes.count, writes[start].sequence <= sequence {
            bytes -= writes[start].payload.count
            start += 1
        }
        compact()
        return writes[start...].prefix(limit)
    }

    /// Empties the cache, because a change other than an append was made to the queue.
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
