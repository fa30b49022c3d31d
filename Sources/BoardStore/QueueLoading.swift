/// The queue's state as a new process finds it.
extension BoardDatabase {
    /// A part of the state as it was saved; nil when there is none or any bit of it differs.
    private func saved(
        _ id: Int64, _ part: String
    ) throws(StoreError) -> (plain: [UInt8], last: Int64)? {
        let select = try Statement(connection, "SELECT last, sealed FROM state WHERE id = ?1")
        select.bind(1, id)
        guard try select.step() else { return nil }
        let last = select.int(0)
        let place = Place.state(part, last: last, generation: keys.queue.generation)
        var plain: [UInt8] = []
        let isWhole = try select.withBlob(1) { (sealed) throws(StoreError) in
            try reader.open(sealed, key: keys.queue, for: last, at: place, into: &plain)
        }
        return isWhole ? (plain, last) : nil
    }

    func savedState() throws(StoreError) -> QueueState? {
        try saved(1, "queue").flatMap { QueueState($0.plain, lastSequence: $0.last) }
    }

    func savedLedger() throws(StoreError) -> QueueLedger? {
        try saved(2, "ledger").flatMap { QueueLedger($0.plain) }
    }

    /// Loads what is whole, and finds out what is still to be delivered.
    func loadState() throws(StoreError) {
        if let found = try savedState() { state = found }
        if let found = try savedLedger() { ledger = found }
        try loadMemory()
    }

    private func loadMemory() throws(StoreError) {
        memory = QueueMemory()
        memory.messages = state.stored
        if let front = try frontRow(), front.first <= state.watermark {
            try unmark(front.first...state.watermark)
        }
        for hole in state.holes { try unmark(hole) }
    }

    /// Takes what has left out of rows that still stand.
    private func unmark(_ run: ClosedRange<Int64>) throws(StoreError) {
        for head in try heads(touching: run) {
            guard var marks = try marks(of: head) else { continue }
            memory.messages = max(0, memory.messages - marks.remove(run))
            memory.marks[head.first] = marks
        }
    }

    /// Loads the state; counts it anew when it is damaged.
    ///
    /// Then sequence numbers go on far above all that the file still shows: a gap is better
    /// than a number used twice.
    func loadOrRepairState() throws(StoreError) {
        let (state, ledger) = (try savedState(), try savedLedger())
        let rows = try connection.number("SELECT count(*) FROM state WHERE id = 1")
        let ledgers = try connection.number("SELECT count(*) FROM state WHERE id = 2")
        let isLedgerLost = ledger == nil && ledgers > 0
        try loadState()
        let highest = try highestShown()
        if state == nil, highest > 0 || rows > 0 {
            try recount(highest)
        } else if !isLedgerLost {
            return
        }
        if isLedgerLost, state != nil {
            // A counter may have told of numbers that were given beyond the last.
            let (last, overflow) = self.state.lastSequence.addingReportingOverflow(1 << 20)
            guard !overflow else { throw .corrupt("queue state") }
            self.state.lastSequence = last
        }
        note(DamagedRecord(name: "queue state", sequence: nil))
        try transaction { () throws(StoreError) in
            stateIsChanged = true
            ledgerIsChanged = true
        }
    }

    private func highestShown() throws(StoreError) -> Int64 {
        try connection.number("""
            SELECT max(coalesce((SELECT max(last) FROM batch), 0),
                coalesce((SELECT max(last) FROM window), 0),
                coalesce((SELECT max(seq) FROM dead), 0),
                coalesce((SELECT max(last) FROM aside), 0),
                coalesce((SELECT max(last) FROM state), 0))
            """)
    }

    private func recount(_ highest: Int64) throws(StoreError) {
        let (last, overflow) = max(0, highest).addingReportingOverflow(1 << 20)
        guard !overflow else { throw .corrupt("queue state") }
        state = QueueState()
        state.lastSequence = last
        try countRows()
        state.dead = try connection.number("SELECT count(*) FROM dead")
        state.deadBytes = try connection.number("SELECT coalesce(sum(length(body)), 0) FROM dead")
        try loadMemory()
    }

    /// Counts what all rows hold and take.
    func countRows() throws(StoreError) {
        let heads = try Statement(connection, """
            SELECT first, last, count, oldest, classes, sid, user, length(body) FROM batch
            """)
        (state.stored, state.bytes) = (0, 0)
        while try heads.step() {
            let head = heads.head
            state.add(stored: head.count, bytes: head.cost)
            state.accepted(at: head.oldest)
        }
        stateIsChanged = true
    }
}
