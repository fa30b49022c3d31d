import Gate
import Sessions

/// Writes that are given up: for their age, or to make room for others.
extension BoardDatabase {
    /// Rows that are looked at in one go.
    private static let chunk = 64

    /// Drops what was accepted from `start` to before `end`: from the front as far as that
    /// goes, and behind it only when a step of the clock left something older there. A row with
    /// a write from before `start` is left as it is, and so is each of the `spared`.
    func expire(
        _ start: Timestamp, _ end: Timestamp, sparing spared: Set<Int64>
    ) throws(StoreError) {
        let span = (start.milliseconds, end.milliseconds)
        var position = memory.exempt
        while position < .max {
            let heads = try heads(touching: position + 1...Int64.max, limit: Self.chunk)
            for head in heads {
                guard head.oldest < span.1 else { return try expireLate(span, spared) }
                if head.oldest < span.0 {
                    memory.exempt = head.last
                } else if try !expire(head, span, spared) {
                    // What stays of a row is not so old.
                    let left = try self.heads(touching: head.first...head.last, limit: 1)
                    guard left.isEmpty else { return try expireLate(span, spared) }
                }
                position = head.last
            }
            guard heads.count == Self.chunk else { break }
        }
        try expireLate(span, spared)
    }

    /// Whether the row holds a write that was spared.
    private func expire(
        _ head: RowHead, _ span: (Int64, Int64), _ spared: Set<Int64>
    ) throws(StoreError) -> Bool {
        try take(from: head, .expired) { write in
            write.acceptedAt.milliseconds >= span.0 && write.acceptedAt.milliseconds < span.1
                && !spared.contains(write.sequence)
        }
        return spared.contains { $0 >= head.first && $0 <= head.last }
    }

    /// Looks at all rows, and learns anew what is older than what stands before it.
    private func expireLate(
        _ span: (Int64, Int64), _ spared: Set<Int64>
    ) throws(StoreError) {
        guard state.lateFloor < span.1 else { return }
        var (latest, floor): (Int64, Int64) = (0, .max)
        var position: Int64 = 0
        while case let heads = try heads(
            touching: position...Int64.max, limit: Self.chunk), let last = heads.last
        {
            for head in heads where head.oldest >= span.0 {
                if head.oldest < span.1 {
                    if try expire(head, span, spared) { floor = min(floor, head.oldest) }
                } else if head.oldest < latest {
                    floor = min(floor, head.oldest)
                }
                latest = max(latest, head.oldest)
            }
            guard last.last < .max else { break }
            position = last.last + 1
        }
        state.lateFloor = floor
        stateIsChanged = true
    }

    func makeRoom(_ bytes: Int64, _ keep: [ClassName]) throws(StoreError) {
        if memory.ranking != keep || memory.cursors.count != keep.count + 1 {
            memory.ranking = keep
            memory.cursors = Array(repeating: 0, count: keep.count + 1)
        }
        let goal = max(0, state.bytes - max(0, bytes))
        for rank in memory.cursors.indices {
            try drop(rank, keep, downTo: goal)
            if state.bytes <= goal { return }
        }
    }

    /// Drops writes of one rank, the least important being 0, until few enough bytes are left.
    private func drop(
        _ rank: Int, _ keep: [ClassName], downTo goal: Int64
    ) throws(StoreError) {
        let kept = Set(keep)
        let wanted: ClassName? = rank == 0 ? nil : keep[keep.count - rank]
        let mask = wanted.map { ledger.classes.mask(of: $0.description) }
            ?? ~keep.reduce(0) {
                $0 | ledger.classes.mask(of: $1.description) & ~ClassSlots.shared
            }
        while state.bytes > goal {
            let heads = try heads(of: mask, after: memory.cursors[rank])
            guard let last = heads.last else {
                // What comes later stands behind all of these.
                return memory.cursors[rank] = state.lastSequence
            }
            for head in heads {
                guard state.bytes > goal else { return }
                if head.classes & mask == head.classes, head.classes & ClassSlots.shared == 0 {
                    try takeAll(of: head, .full)
                } else {
                    try take(from: head, .full) { write in
                        wanted.map { write.className == $0 } ?? !kept.contains(write.className)
                    }
                }
                // Not its end, which a flipped bit may have moved past the rows behind it.
                memory.cursors[rank] = head.first
            }
            memory.cursors[rank] = last.first
        }
    }

    /// Rows behind `position` with any of these classes.
    private func heads(of mask: Int64, after position: Int64) throws(StoreError) -> [RowHead] {
        let select = try Statement(connection, """
            SELECT first, last, count, oldest, classes, sid, user, length(body) FROM batch
                WHERE first > ?1 AND classes & ?2 ORDER BY first LIMIT \(Self.chunk)
            """)
        select.bind(1, position)
        select.bind(2, mask)
        var heads: [RowHead] = []
        while try select.step() { heads.append(select.head) }
        return heads
    }

    /// Gives up a whole row, unopened when that is enough to count it.
    private func takeAll(
        of head: RowHead, _ cause: QueueLosses.Cause
    ) throws(StoreError) {
        guard let name = ledger.classes.name(ofOnly: head.classes),
            let marks = try marks(of: head)
        else {
            try take(from: head, cause) { _ in true }
            return
        }
        for run in marks.runs { ledger.losses.lose(run, cause) }
        ledger.losses.drop(marks.count, of: name)
        ledgerIsChanged = true
        try drop(head, left: marks.count)
        try giveBackPages()
    }

    /// Takes the writes out of a row that `isGone` says, and books them; seals the others anew.
    /// A row that does not open is set aside as a whole.
    @discardableResult
    func take(
        from head: RowHead, _ cause: QueueLosses.Cause, _ isGone: (AcceptedWrite) -> Bool
    ) throws(StoreError) -> [AcceptedWrite] {
        guard let writes = try writes(of: head) else {
            try moveAside(head)
            return []
        }
        let gone = writes.filter(isGone)
        guard !gone.isEmpty else { return [] }
        for write in gone {
            ledger.losses.lose(write.sequence...write.sequence, cause)
            if cause == .full || cause == .expired {
                ledger.losses.drop(1, of: write.className.description)
            }
        }
        ledgerIsChanged = true
        let left = writes.filter { !isGone($0) }
        try drop(head, left: Int64(writes.count))
        var rest = left[...]
        while !rest.isEmpty { memory.messages += try addRow(&rest).count }
        try giveBackPages()
        return gone
    }

    func lose(_ range: ClosedRange<Int64>, _ cause: QueueLosses.Cause) {
        ledger.losses.lose(range, cause)
        ledgerIsChanged = true
    }

    func destroyQueue() throws(StoreError) {
        let window = try readWindow()
        var position: Int64 = .min
        while case let heads = try heads(
            touching: position...Int64.max, limit: Self.chunk), let last = heads.last
        {
            for head in heads {
                guard let marks = try marks(of: head) else { continue }
                for run in marks.runs { lose(run, .destroyed) }
            }
            guard last.last < .max else { break }
            position = last.last + 1
        }
        try connection.run("""
            DELETE FROM batch; DELETE FROM aside; DELETE FROM dead; DELETE FROM window
            """)
        // Not overwritten, for that would write the whole queue once more: cut off the file.
        try connection.run("PRAGMA incremental_vacuum")
        try overwriting { () throws(StoreError) in try replaceKey(.queue) }
        windowEnd = nil
        try addToWindow(window)
        memory = QueueMemory()
        open = nil
        (state.stored, state.bytes, state.dead, state.deadBytes) = (0, 0, 0, 0)
        state.watermark = state.lastSequence
        stateIsChanged = true
        ledgerIsChanged = true
    }
}
