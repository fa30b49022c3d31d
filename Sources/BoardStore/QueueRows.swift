import Gate
import Sessions

/// Rows of the queue, sealed and opened.
extension BoardDatabase {
    func append(_ writes: [AcceptedWrite]) throws(StoreError) {
        guard let oldest = writes.first?.acceptedAt else { return }
        for write in writes { state.accepted(at: write.acceptedAt.milliseconds) }
        if memory.messages == 0 { memory.oldest = oldest }
        var rest = writes[...]
        while let head = rest.first {
            guard head.sequence > state.lastSequence else {
                throw .outOfOrder(sequence: head.sequence, last: state.lastSequence)
            }
            let row = try addRow(&rest) { $0.sequence == $1.sequence &+ 1 }
            state.lastSequence = row.last
            memory.messages += row.count
            offerOpen(row)
        }
        stateIsChanged = true
    }

    /// Seals as many of the first writes as one row takes: those of one session, each of which
    /// `follows` the one before.
    func addRow(
        _ rest: inout ArraySlice<AcceptedWrite>,
        follows: (AcceptedWrite, AcceptedWrite) -> Bool = { _, _ in true }
    ) throws(StoreError) -> RowHead {
        var encoder = BatchEncoder()
        rowBuffer.removeAll(keepingCapacity: true)
        var before: AcceptedWrite?
        var bit: Int64 = 0
        while let write = rest.first {
            if let before {
                guard write.session == before.session, write.user == before.user,
                    follows(write, before), encoder.takes(write.sequence, into: rowBuffer)
                else { break }
            } else {
                encoder.begin(write.session.description, write.user.description, in: &rowBuffer)
            }
            if before?.className != write.className { bit = classBit(write.className) }
            guard encoder.append(write, class: bit, to: &rowBuffer) else {
                throw .corrupt("queue \(write.sequence): its topic is too long")
            }
            before = write
            rest.removeFirst()
        }
        return try insert(encoder.head)
    }

    private func classBit(_ name: ClassName) -> Int64 {
        let (bit, isNew) = ledger.classes.bit(for: name.description)
        ledgerIsChanged = ledgerIsChanged || isNew
        return bit
    }

    /// Seals what stands in `rowBuffer` under a head, as a row.
    private func insert(_ plain: RowHead) throws(StoreError) -> RowHead {
        var head = plain
        try shareable(head)
        sealedBuffer.removeAll(keepingCapacity: true)
        try writer.seal(
            rowBuffer, key: keys.queue, for: head.first, at: placeBuffer, into: &sealedBuffer)
        head.size = sealedBuffer.count
        let add = statements.addRow
        add.bind(1, head.first)
        add.bind(2, head.last)
        add.bind(3, head.count)
        add.bind(4, head.oldest)
        add.bind(5, head.classes)
        add.bind(6, head.session)
        add.bind(7, head.user)
        try add.run(8, blob: sealedBuffer)
        state.add(stored: head.count, bytes: head.cost)
        return head
    }

    /// Puts a row's place into `placeBuffer`.
    private func shareable(_ head: RowHead) throws(StoreError) {
        placeBuffer.removeAll(keepingCapacity: true)
        placeBuffer.append(contentsOf: Place.batch(generation: keys.queue.generation))
        Place.append(head, to: &placeBuffer)
    }

    /// Keeps a row open that was appended, if the one before it was read to its end: then it is
    /// the next to be read.
    private func offerOpen(_ head: RowHead) {
        guard open?.isAtEnd ?? true else { return }
        guard let row = BatchReader(rowBuffer, head) else { return }
        open = row
        rowBuffer = []
    }

    /// Opens the row that `select` stands on, as `Statements.rows` does. False when any bit of
    /// it differs.
    func openRow(_ select: Statement) throws(StoreError) -> Bool {
        let head = select.head
        if let open, open.head == head { return true }
        try shareable(head)
        rowBuffer.removeAll(keepingCapacity: true)
        let isWhole = try select.withBlob(8) { (body) throws(StoreError) in
            try reader.open(
                body, key: keys.queue, for: head.first, at: placeBuffer, into: &rowBuffer)
        }
        guard isWhole, let row = BatchReader(rowBuffer, head) else { return false }
        open = row
        rowBuffer = []
        return true
    }

    /// The writes of one row that are still to be delivered; nil when it does not open.
    func writes(of head: RowHead) throws(StoreError) -> [AcceptedWrite]? {
        try withRow(head.first) { row in
            let marks = memory.marks[head.first]
            var writes: [AcceptedWrite] = []
            while let item = row.next() {
                guard marks?.contains(item.sequence) ?? true else { continue }
                writes.append(row.write(item))
            }
            return row.isAtEnd ? writes : nil
        }
    }

    /// Lends a row, opened and at its beginning; nil when it does not open.
    func withRow<R>(
        _ first: Int64, _ body: (inout BatchReader) -> R?
    ) throws(StoreError) -> R? {
        let rows = statements.rows
        defer { rows.reset() }
        rows.bind(1, first)
        guard try rows.step(), rows.int(0) == first, try openRow(rows), var row = open.take()
        else { return nil }
        defer { open = row }
        row.rewind()
        return body(&row)
    }
}
