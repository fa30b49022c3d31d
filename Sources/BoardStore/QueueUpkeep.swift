import Gate

extension BoardDatabase {
    /// Rows that could not be opened are kept up to so many bytes; beyond it the oldest go.
    private static let asideLimit = 4 << 20
    /// Free pages that stay for reuse, 2 MiB; what is beyond goes back to the file system.
    private static let sparePages: Int64 = 512

    /// Bytes of the database file that hold something, and all its bytes.
    package func fileBytes() throws(StoreError) -> (used: Int64, total: Int64) {
        let pages = try connection.number("PRAGMA page_count")
        let free = try connection.number("PRAGMA freelist_count")
        let size = try connection.number("PRAGMA page_size")
        return (max(0, pages - free) * size, pages * size)
    }

    /// Shrinks the file by at most `most` pages once it is half empty, and to the end when the
    /// queue is. Runs within a transaction. Half empty, since each page given back is one that
    /// is moved.
    func giveBackPages(most: Int64 = 512) throws(StoreError) {
        defer { statements.freePages.reset() }
        guard try statements.freePages.step() else { return }
        let free = statements.freePages.int(0)
        guard free > Self.sparePages, free > state.bytes / 4096 else { return }
        let pages = min(free - Self.sparePages, state.stored == 0 ? .max : most)
        try connection.run("PRAGMA incremental_vacuum(\(pages))")
    }

    /// Moves rows that do not open out of the queue, or leaves that for the next time.
    func setAside(_ heads: [RowHead]) {
        do throws(StoreError) {
            try transaction { () throws(StoreError) in
                for head in heads { try moveAside(head) }
            }
            for head in heads {
                note(DamagedRecord(name: head.name, sequence: head.first))
            }
        } catch {
            // The rows stay where they are, and are met again.
        }
    }

    /// Moves one row that does not open out of the queue, and books its writes.
    func moveAside(_ head: RowHead) throws(StoreError) {
        let copy = try Statement(connection, """
            INSERT OR REPLACE INTO aside (first, last, user, body)
                SELECT first, last, user, body FROM batch WHERE first = ?1
            """)
        copy.bind(1, head.first)
        try copy.run()
        let marks = memory.marks[head.first] ?? RowMarks(all: head.first, head.last)
        for run in marks?.runs ?? [] { ledger.losses.lose(run, .damaged) }
        let count = min(marks?.count ?? 0, head.count)
        ledger.count("damaged", (ledger.counters["damaged"] ?? 0) + count)
        ledgerIsChanged = true
        try drop(head, left: count)
        try connection.run("""
            DELETE FROM aside WHERE first IN (SELECT first FROM (SELECT first,
                sum(length(body)) OVER (ORDER BY first DESC) AS bytes FROM aside)
                WHERE bytes > \(Self.asideLimit))
            """)
        // What stood in its columns may be damaged too.
        try countRows()
    }

    func saveState() throws(StoreError) {
        rowBuffer.removeAll(keepingCapacity: true)
        state.holes = memory.marks.isEmpty ? [] : holes()
        state.encode(into: &rowBuffer)
        try save(1, "queue")
    }

    /// What has left of rows that still stand, above the watermark.
    private func holes() -> [ClosedRange<Int64>] {
        var holes: [ClosedRange<Int64>] = []
        for (first, marks) in memory.marks.sorted(by: { $0.key < $1.key }) {
            if let lowest = marks.lowest, lowest > first, lowest - 1 > state.watermark {
                holes.append(first...lowest - 1)
            }
            holes += marks.holes
            if holes.count > QueueState.holeLimit { break }
        }
        return Array(holes.prefix(QueueState.holeLimit))
    }

    func saveLedger() throws(StoreError) {
        rowBuffer.removeAll(keepingCapacity: true)
        ledger.encode(into: &rowBuffer)
        try save(2, "ledger")
    }

    private func save(_ id: Int64, _ part: String) throws(StoreError) {
        let place = Place.state(
            part, last: state.lastSequence, generation: keys.queue.generation)
        sealedBuffer.removeAll(keepingCapacity: true)
        try writer.seal(
            rowBuffer, key: keys.queue, for: state.lastSequence, at: place,
            into: &sealedBuffer)
        statements.saveState.bind(1, id)
        statements.saveState.bind(2, state.lastSequence)
        try statements.saveState.run(3, blob: sealedBuffer)
    }
}

extension RowHead {
    /// For logs.
    var name: String { first == last ? "queue \(first)" : "queue \(first) to \(last)" }
}
