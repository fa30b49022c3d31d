package import Gate
import Sessions

extension BoardDatabase {
    /// The highest sequence ever appended; 0 before the first. It survives an empty queue.
    package var lastSequence: Int64 { state.lastSequence }

    /// How full the queue is. Asks the file for the age of the oldest only.
    package func usage() -> QueueUsage {
        QueueUsage(
            messages: memory.messages, bytes: state.bytes, oldest: oldest(), dead: state.dead,
            losses: ledger.losses)
    }

    /// The counters that `StoreChange.counter` set.
    package var counters: [String: Int64] { ledger.counters }

    /// The writes after `sequence`, in order: at most `limit`, and no more once their payloads
    /// pass `bytes`. Empty only when there are no more.
    ///
    /// A row that does not open is moved to a table of its own, booked among the losses, named
    /// in `takeDamaged` and passed over; it never holds up the rest.
    package func next(
        after sequence: Int64, limit: Int, bytes: Int = 1 << 20
    ) throws(StoreError) -> [AcceptedWrite] {
        var part = QueuePart(position: sequence, limit: limit, bytes: bytes)
        if let open, part.position >= open.head.first - 1, part.position < open.head.last,
            try isFresh()
        { readOpen(&part) }
        guard !part.isFull else { return part.writes }
        var unopened: [RowHead] = []
        try snapshot { () throws(StoreError) in
            let start = try firstKey(at: part.position)
            let rows = statements.rows
            defer { rows.reset() }
            rows.bind(1, start)
            while !part.isFull, try rows.step() {
                let head = rows.head
                guard head.last > part.position else { continue }
                if try openRow(rows) {
                    readOpen(&part)
                    // What is left of it can no longer be told apart.
                    if let open, !open.isAtEnd, !part.isFull { unopened.append(head) }
                } else {
                    unopened.append(head)
                }
                if !part.isFull { part.position = max(part.position, head.last) }
            }
        }
        if !unopened.isEmpty { setAside(unopened) }
        return part.writes
    }

    /// What could not be opened since the last call.
    package func takeDamaged() -> [DamagedRecord] {
        defer { damaged = [] }
        return damaged
    }

    /// Whose writes there are, those set aside too: a few names at most, as they stand.
    package func queueUsers() throws(StoreError) -> [String] {
        let select = try Statement(connection, """
            SELECT user FROM batch UNION SELECT user FROM aside UNION SELECT user FROM dead
                LIMIT 16
            """)
        var users: [String] = []
        while try select.step() { users.append(select.text(0)) }
        return users
    }

    /// Whether what is held of the file in memory still holds.
    private func isFresh() throws(StoreError) -> Bool {
        try trust()
        try reloadIfChangedElsewhere()
        return open != nil
    }

    /// Reads on in the row that is open.
    private func readOpen(_ part: inout QueuePart) {
        guard var row = open.take() else { return }
        if row.position > part.position { row.rewind() }
        let marks = memory.marks[row.head.first]
        while !part.isFull, let item = row.next() {
            guard item.sequence > part.position, marks?.contains(item.sequence) ?? true else {
                continue
            }
            part.add(row.write(item))
        }
        open = row
    }

    /// The key of the row that the write after `sequence` would stand in, or a lower bound.
    func firstKey(at sequence: Int64) throws(StoreError) -> Int64 {
        defer { statements.rowBefore.reset() }
        statements.rowBefore.bind(1, sequence)
        return try statements.rowBefore.step() ? statements.rowBefore.int(0) : sequence
    }
}

/// What one call of `next` gathers.
private struct QueuePart {
    private(set) var writes: [AcceptedWrite] = []
    /// All up to here were looked at.
    var position: Int64
    private let limit: Int
    private let bytes: Int
    private var size = 0

    init(position: Int64, limit: Int, bytes: Int) {
        self.position = position
        self.limit = limit
        self.bytes = bytes
    }

    var isFull: Bool { writes.count >= limit || size >= bytes }

    mutating func add(_ write: AcceptedWrite) {
        size += write.payload.count
        position = write.sequence
        writes.append(write)
    }
}
