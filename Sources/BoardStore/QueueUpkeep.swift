import Gate
import Sessions

extension BoardDatabase {
    /// How many rows that could not be opened are kept; beyond it the oldest go.
    private static let asideLimit = 1000
    /// Free pages that stay for reuse, 4 MiB; what is beyond goes back to the file system.
    private static let sparePages: Int64 = 1024

    /// Bytes of the database file that hold something, and all its bytes.
    package func fileBytes() throws(StoreError) -> (used: Int64, total: Int64) {
        let pages = try connection.number("PRAGMA page_count")
        let free = try connection.number("PRAGMA freelist_count")
        let size = try connection.number("PRAGMA page_size")
        return (max(0, pages - free) * size, pages * size)
    }

    /// Shrinks the file by at most `most` pages when much of it is empty. Runs within a
    /// transaction.
    func giveBackPages(most: Int64 = 512) throws(StoreError) {
        defer { statements.freePages.reset() }
        guard try statements.freePages.step() else { return }
        let beyond = statements.freePages.int(0) - Self.sparePages
        guard beyond > 0 else { return }
        try connection.run("PRAGMA incremental_vacuum(\(min(beyond, most)))")
    }

    /// Moves rows that do not open out of the queue, or leaves that for the next time.
    func setAside(_ sequences: [Int64]) {
        do throws(StoreError) {
            try transaction { () throws(StoreError) in
                let copy = try Statement(connection, Self.copyAside)
                for sequence in sequences {
                    copy.bind(1, sequence)
                    try copy.run()
                }
                try remove(sequences)
                try connection.run(Self.trimAside)
                let name = "damaged"
                state.count(name, (state.counters[name] ?? 0) + Int64(sequences.count))
            }
            for number in sequences {
                note(DamagedRecord(name: "queue \(number)", sequence: number))
            }
        } catch {
            // The rows stay where they are, and are met again.
        }
    }

    func bury(_ burials: [Burial]) throws(StoreError) {
        guard !burials.isEmpty else { return }
        let copy = try Statement(connection, """
            INSERT OR REPLACE INTO aside
                SELECT seq, at, sid, user, body, 'dead: ' || ?2 FROM queue WHERE seq = ?1
            """)
        for burial in burials {
            copy.bind(1, burial.sequence)
            copy.bind(2, burial.reason)
            try copy.run()
        }
        try remove(burials.map(\.sequence))
        try connection.run(Self.trimAside)
        state.count("dead", (state.counters["dead"] ?? 0) + Int64(burials.count))
    }

    /// The newest dead letters, the newest first.
    package func deadLetters(limit: Int) throws(StoreError) -> [DeadLetter] {
        let select = try Statement(connection, """
            SELECT seq, at, sid, user, body, substr(reason, 7) FROM aside
                WHERE reason LIKE 'dead: %' ORDER BY seq DESC LIMIT ?1
            """)
        select.bind(1, Int64(limit))
        var letters: [DeadLetter] = []
        while try select.step() {
            guard let write = try openRow(
                Place.queue(generation: keys.queue.generation), of: select)
            else { continue }
            letters.append(DeadLetter(
                write: write, reason: select.text(5), buriedAt: write.acceptedAt))
        }
        return letters
    }

    private static let copyAside = """
        INSERT OR REPLACE INTO aside
            SELECT seq, at, sid, user, body, 'unopened' FROM queue WHERE seq = ?1
        """
    private static let trimAside = """
        DELETE FROM aside WHERE seq NOT IN (SELECT seq FROM aside ORDER BY seq DESC
            LIMIT \(asideLimit))
        """

    func saveState() throws(StoreError) {
        let place = Place.state(last: state.lastSequence, generation: keys.queue.generation)
        sealedBuffer.removeAll(keepingCapacity: true)
        try writer.seal(
            state.encoded(), key: keys.queue, for: state.lastSequence, at: place,
            into: &sealedBuffer)
        statements.saveState.bind(1, state.lastSequence)
        try statements.saveState.run(2, blob: sealedBuffer)
    }

    /// The state as it was saved; nil when there is none or any bit of it differs.
    func loadState() throws(StoreError) -> QueueState? {
        let select = try Statement(connection, "SELECT last, sealed FROM state")
        guard try select.step() else { return nil }
        let last = select.int(0)
        let place = Place.state(last: last, generation: keys.queue.generation)
        var plaintext: [UInt8] = []
        let isWhole = try select.withBlob(1) { (sealed) throws(StoreError) in
            try reader.open(sealed, key: keys.queue, for: last, at: place, into: &plaintext)
        }
        return isWhole ? QueueState(plaintext, lastSequence: last) : nil
    }

    /// Loads the state; counts it anew when it is damaged.
    ///
    /// Then sequence numbers go on far above all that the file still shows: a gap is better
    /// than a number used twice.
    func loadOrRepairState() throws(StoreError) {
        if let loaded = try loadState() {
            state = loaded
            return
        }
        let rows = """
            SELECT max(coalesce((SELECT max(seq) FROM queue), 0),
                coalesce((SELECT max(last) FROM window), 0),
                coalesce((SELECT max(seq) FROM aside), 0), (SELECT count(*) FROM state))
            """
        let highest = try connection.number(rows)
        guard highest > 0 else { return }
        let (last, overflow) = highest.addingReportingOverflow(1 << 20)
        guard !overflow else { throw .corrupt("queue state") }
        state.lastSequence = last
        state.messages = try connection.number("SELECT count(*) FROM queue")
        let sizes = "SELECT coalesce(sum(length(body) + \(QueueRow.overhead)), 0) FROM queue"
        state.bytes = try connection.number(sizes)
        note(DamagedRecord(name: "queue state", sequence: nil))
        try transaction { () throws(StoreError) in try saveState() }
    }
}
