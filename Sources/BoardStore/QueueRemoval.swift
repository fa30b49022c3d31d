import Sessions

/// Writes that leave the queue.
extension BoardDatabase {
    func remove(_ sequences: [Int64]) throws(StoreError) {
        guard !sequences.isEmpty else { return }
        var run: ClosedRange<Int64>?
        let isSorted = zip(sequences, sequences.dropFirst()).allSatisfy { $0 <= $1 }
        for sequence in isSorted ? sequences : sequences.sorted() {
            if let open = run {
                if sequence <= open.upperBound || sequence == open.upperBound &+ 1 {
                    run = open.lowerBound...max(sequence, open.upperBound)
                    continue
                }
                try remove(open)
            }
            run = sequence...sequence
        }
        if let run { try remove(run) }
        try moveWatermark()
        try giveBackPages()
        stateIsChanged = true
    }

    private func remove(_ run: ClosedRange<Int64>) throws(StoreError) {
        memory.oldest = nil
        for head in try heads(touching: run) {
            let isWhole = run.lowerBound <= head.first && head.last <= run.upperBound
            if isWhole, memory.marks[head.first] == nil {
                try drop(head, left: head.count)
            } else if let marks = try marks(of: head) {
                try mark(head, marks, run)
            }
        }
    }

    private func mark(
        _ head: RowHead, _ before: RowMarks, _ run: ClosedRange<Int64>
    ) throws(StoreError) {
        var marks = before
        let removed = marks.remove(run)
        guard marks.count == 0 else {
            memory.marks[head.first] = marks
            memory.messages = max(0, memory.messages - removed)
            return
        }
        try drop(head, left: removed)
    }

    /// Deletes a row of whose writes `left` were still to be delivered.
    func drop(_ head: RowHead, left: Int64) throws(StoreError) {
        statements.dropRow.bind(1, head.first)
        try statements.dropRow.run()
        state.add(stored: -head.count, bytes: -head.cost)
        memory.messages = max(0, memory.messages - left)
        memory.marks[head.first] = nil
        memory.oldest = nil
        if open?.head.first == head.first { open = nil }
        stateIsChanged = true
    }

    /// The rows that hold any of `run`, at most `limit`.
    func heads(
        touching run: ClosedRange<Int64>, limit: Int = .max
    ) throws(StoreError) -> [RowHead] {
        let start = min(try firstKey(at: run.lowerBound), run.lowerBound)
        defer { statements.heads.reset() }
        statements.heads.bind(1, start)
        statements.heads.bind(2, run.upperBound)
        var heads: [RowHead] = []
        while heads.count < limit, try statements.heads.step() {
            let head = statements.heads.head
            if head.last >= run.lowerBound { heads.append(head) }
        }
        return heads
    }

    /// What is still to be delivered of a row. Nil for a row that is none.
    func marks(of head: RowHead) throws(StoreError) -> RowMarks? {
        if let known = memory.marks[head.first] { return known }
        return try freshMarks(head)
    }

    /// Marks for a row none of whose writes has left. Nil for a row that is none.
    func freshMarks(_ head: RowHead) throws(StoreError) -> RowMarks? {
        if head.isDense { return RowMarks(all: head.first, head.last) }
        let found = try withRow(head.first) { row -> [Int64]? in
            var sequences: [Int64] = []
            while let item = row.next() { sequences.append(item.sequence) }
            return sequences
        }
        guard let found else { return RowMarks(all: head.first, head.last) }
        return RowMarks(head.first, head.last, only: found)
    }

    /// The first row; nil when there is none.
    func frontRow() throws(StoreError) -> RowHead? {
        defer { statements.front.reset() }
        return try statements.front.step() ? statements.front.head : nil
    }

    private func moveWatermark() throws(StoreError) {
        if let front = try frontRow() {
            let lowest = memory.marks[front.first]?.lowest ?? front.first
            state.watermark = max(state.watermark, max(lowest, 1) - 1)
        } else {
            state.watermark = state.lastSequence
        }
    }

    /// When the oldest write was accepted; that of its row where the row does not open.
    func oldest() -> Timestamp? {
        guard memory.messages > 0 else { return nil }
        if let known = memory.oldest { return known }
        do throws(StoreError) {
            guard let front = try frontRow() else { return nil }
            let oldest = Timestamp(milliseconds: try firstTime(of: front) ?? front.oldest)
            memory.oldest = oldest
            return oldest
        } catch {
            return nil
        }
    }

    /// When the first write was accepted that is left of a row, unless another row is open,
    /// which is to be read on.
    private func firstTime(of head: RowHead) throws(StoreError) -> Int64? {
        guard let lowest = memory.marks[head.first]?.lowest else { return nil }
        guard open == nil || open?.head.first == head.first else { return nil }
        return try withRow(head.first) { row in
            var time: Int64?
            while let item = row.next(), item.sequence <= lowest { time = item.at }
            return time
        }
    }
}
