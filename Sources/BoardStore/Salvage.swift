import Gate
import LinuxIO
package import Sessions

/// What was saved of a damaged database.
package struct SalvageReport: Equatable, Sendable {
    /// What the damaged file is called now.
    package var setAside = ""
    /// The vault records that are lost.
    package var lostRecords: [String] = []
    package var messages: Int64 = 0
    package var deadLetters: Int64 = 0
    /// Sequences that were accepted, did not leave, and cannot be read.
    package var lost: Int64 = 0
    /// Behind which number it goes on, where no number that was given is known any more.
    package var resumesAfter: Int64?
    /// Nothing had to be read out of a damaged file: a whole copy stood there already. Then the
    /// numbers above say nothing.
    package var isWhole = false
}

extension BoardDatabase {
    /// Builds a new database of all that can be read of a damaged one, which is renamed to
    /// `board.db.damaged-` and the time in milliseconds, and never deleted.
    ///
    /// No connection may be open to the file in this process. Every record and row is bound to
    /// its place and the storage key, so nothing comes back that was not written there. Lost
    /// writes are booked as damaged; a write that had left may come back with its sequence. Takes
    /// as much room again as the queue takes.
    ///
    /// Where the identity cannot be read, its copy counts. Throws `unreadable`, and leaves all as
    /// it was, when there is neither, or no copy and the log cannot be carried into the file;
    /// `unavailable` when there is no room for it now. After a power cut in it, calling it again
    /// finishes it.
    package static func salvage(
        folder: String, keySource: KeyFile, at time: Timestamp
    ) throws(StoreError) -> SalvageReport {
        let files = DatabaseFiles(folder: folder)
        try files.prepare()
        var report = SalvageReport()
        report.setAside = "board.db.damaged-\(time.milliseconds)"
        report.isWhole = try files.isFinishedSalvage()
        if !report.isWhole {
            try files.carryLog()
            let wreck = try files.wreck(keySource)
            let target = try files.beginSalvage()
            try BoardDatabase(target, keySource).adopt(wreck, &report)
        }
        try files.finishSalvage(at: time)
        return report
    }

    /// Copies a database whose file lost its name, but is still open here, to where `salvage`
    /// finds it; leaves nothing where that does not succeed.
    func rescue() {
        do throws(StoreError) {
            guard try !files.isFinishedSalvage() else { return }
            let target = try files.beginSalvage()
            try files.onFile { () throws(FileFailure) in
                // With this mode; SQLite fills it because it is empty.
                try PrivateFile.touch(target.database)
                try PrivateFile.remove(target.next)
            }
            let vacuum = try Statement(connection, "VACUUM INTO ?1")
            vacuum.bind(1, target.database)
            try vacuum.run()
            let copy = try Connection(target.database)
            // What is written here is synced, and the whole file with it.
            try copy.run("PRAGMA user_version=0; PRAGMA user_version=\(Schema.version)")
            try files.nameSalvage()
        } catch {
            // The caller throws: nothing was promised.
        }
    }

    /// Takes over everything that a wreck holds.
    private func adopt(
        _ wreck: Wreck, _ report: inout SalvageReport
    ) throws(StoreError) {
        try transact(wreck.records.map { .put($0, $1) })
        report.lostRecords = wreck.lostRecords
        let known = try wreck.state()
        // Without the state nobody knows which numbers were given.
        let base = known == nil ? wreck.copy?.baseAfterLoss(of: wreck.highest) : nil
        report.resumesAfter = base
        if let copy = wreck.copy, let base {
            try keep(IdentityCopy(
                copy.identity, wasClaimed: copy.wasClaimed, lastSequence: base))
        }
        let counted = try wreck.ledger()
        ledger.counters = counted?.counters ?? [:]
        ledger.losses = counted?.losses ?? QueueLosses()
        try adoptRows(wreck, known)
        try transaction { () throws(StoreError) in
            try wreck.letters { (letter) throws(StoreError) in try addLetter(letter) }
            try trimDead()
            try addToWindow(try wreck.window())
            let before = ledger.losses.total
            try bookGaps(
                known, wreck.highest, isSure: known != nil && counted != nil, base: base)
            report.lost = ledger.losses.total - before
            (stateIsChanged, ledgerIsChanged) = (true, true)
        }
        report.messages = memory.messages
        report.deadLetters = state.dead
        // Only the file itself is carried on.
        try connection.emptyLog()
    }

    private func adoptRows(
        _ wreck: Wreck, _ known: QueueState?
    ) throws(StoreError) {
        var waiting: [[AcceptedWrite]] = []
        try wreck.rows { (writes) throws(StoreError) in
            let left = writes.filter { write in
                guard let known else { return true }
                return write.sequence > known.watermark
                    && !known.holes.contains { $0.contains(write.sequence) }
            }
            waiting.append(left)
            guard waiting.count == 32 else { return }
            try adopt(waiting)
            waiting.removeAll()
        }
        try adopt(waiting)
    }

    private func adopt(_ rows: [[AcceptedWrite]]) throws(StoreError) {
        try transaction(isSynced: false) { () throws(StoreError) in
            for row in rows {
                // A page that is no longer in use may hold a row once more.
                guard let first = row.first, let last = row.last,
                    try heads(touching: first.sequence...last.sequence).isEmpty
                else { continue }
                var rest = row[...]
                while !rest.isEmpty { memory.messages += try addRow(&rest).count }
                for write in row { state.accepted(at: write.acceptedAt.milliseconds) }
            }
            stateIsChanged = true
        }
    }

    /// Sets the last sequence, and books what stands between the rows. Up to `base` nothing else
    /// is booked: what was given there may have arrived.
    private func bookGaps(
        _ known: QueueState?, _ highest: Int64, isSure: Bool, base: Int64?
    ) throws(StoreError) {
        let adopted = try connection.number("SELECT coalesce(max(last), 0) FROM batch")
        let top = max(highest, known?.lastSequence ?? 0, adopted)
        let (next, overflow) = top.addingReportingOverflow(isSure ? 0 : 1 << 20)
        guard !overflow else { throw .corrupt("queue state") }
        let above = base ?? next
        state.lastSequence = above
        let front = try frontRow()
        var position = known?.watermark ?? front.map { $0.first - 1 } ?? top
        let holes = known?.holes ?? []
        func book(to end: Int64) {
            guard end > position else { return }
            var first = position + 1
            for hole in holes where hole.upperBound >= first && hole.lowerBound <= end {
                if hole.lowerBound > first { lose(first...hole.lowerBound - 1, .damaged) }
                first = max(first, hole.upperBound + 1)
            }
            if first <= end { lose(first...end, .damaged) }
        }
        let heads = try Statement(connection, "SELECT first, last FROM batch ORDER BY first")
        while try heads.step() {
            book(to: heads.int(0) - 1)
            position = max(position, heads.int(1))
        }
        book(to: top)
        if above > top, base == nil { lose(top + 1...above, .unknown) }
        state.watermark = front.map { $0.first - 1 } ?? above
    }
}
