package import Gate
import Sessions

extension BoardDatabase {
    /// The highest sequence ever appended; 0 before the first. It survives an empty queue.
    package var lastSequence: Int64 { state.lastSequence }

    /// How full the queue is. Asks the file for the age of the oldest only.
    package func usage() -> QueueUsage {
        var oldest: Timestamp?
        if state.messages > 0, (try? statements.oldest.step()) == true {
            oldest = Timestamp(milliseconds: statements.oldest.int(0))
        }
        statements.oldest.reset()
        var usage = QueueUsage(messages: state.messages, bytes: state.bytes, oldest: oldest)
        usage.dead = state.counters["dead"] ?? 0
        return usage
    }

    /// The counters that `StoreChange.counter` set.
    package var counters: [String: Int64] { state.counters }

    /// The writes after `sequence`, in order: at most `limit`, and no more once their payloads
    /// pass `bytes`. Empty only when there are no more.
    ///
    /// A row that does not open is moved to a table of its own, named in `takeDamaged` and
    /// passed over; it never holds up the rest.
    package func next(
        after sequence: Int64, limit: Int, bytes: Int = 1 << 20
    ) throws(StoreError) -> [AcceptedWrite] {
        var writes: [AcceptedWrite] = []
        var unopened: [Int64] = []
        try snapshot { () throws(StoreError) in
            let place = Place.queue(generation: keys.queue.generation)
            var size = 0
            defer { statements.next.reset() }
            statements.next.bind(1, sequence)
            while writes.count < limit, size < bytes, try statements.next.step() {
                if let write = try openRow(place) {
                    size += write.payload.count
                    writes.append(write)
                } else {
                    unopened.append(statements.next.int(0))
                }
            }
        }
        if !unopened.isEmpty { setAside(unopened) }
        return writes
    }

    /// What could not be opened since the last call.
    package func takeDamaged() -> [DamagedRecord] {
        defer { damaged = [] }
        return damaged
    }

    /// Opens the row that `statements.next` stands on; nil when any bit of it differs.
    func openRow(
        _ shared: [UInt8], of statement: Statement? = nil
    ) throws(StoreError) -> AcceptedWrite? {
        let select = statement ?? statements.next
        let row = (sequence: select.int(0), at: select.int(1))
        let session = select.text(2)
        let user = select.text(3)
        var place = shared
        Place.append(
            sequence: row.sequence, at: row.at, session: session, user: user, to: &place)
        rowBuffer.removeAll(keepingCapacity: true)
        let isWhole = try select.withBlob(4) { (body) throws(StoreError) in
            try reader.open(
                body, key: keys.queue, for: row.sequence, at: place, into: &rowBuffer)
        }
        guard isWhole else { return nil }
        return QueueRow.decode(
            rowBuffer, sequence: row.sequence, at: row.at, session: session, user: user)
    }

    /// Whose writes there are, those set aside too: a few names at most, as they stand.
    package func queueUsers() throws(StoreError) -> [String] {
        let select = try Statement(connection, """
            SELECT user FROM queue UNION SELECT user FROM aside LIMIT 16
            """)
        var users: [String] = []
        while try select.step() { users.append(select.text(0)) }
        return users
    }

    func append(_ writes: [AcceptedWrite]) throws(StoreError) {
        let shared = Place.queue(generation: keys.queue.generation)
        var place: [UInt8] = []
        var bound: (session: ObjectID, user: UserID)?
        for write in writes {
            guard write.sequence > state.lastSequence else {
                throw .outOfOrder(sequence: write.sequence, last: state.lastSequence)
            }
            if bound?.session != write.session || bound?.user != write.user {
                statements.append.bind(3, write.session.description)
                statements.append.bind(4, write.user.description)
                bound = (write.session, write.user)
            }
            place.removeAll(keepingCapacity: true)
            place.append(contentsOf: shared)
            try appendRow(write, at: &place)
        }
        stateIsChanged = stateIsChanged || !writes.isEmpty
    }

    private func appendRow(
        _ write: AcceptedWrite, at place: inout [UInt8]
    ) throws(StoreError) {
        let milliseconds = write.acceptedAt.milliseconds
        Place.append(
            sequence: write.sequence, at: milliseconds, session: write.session.description,
            user: write.user.description, to: &place)
        rowBuffer.removeAll(keepingCapacity: true)
        sealedBuffer.removeAll(keepingCapacity: true)
        guard QueueRow.encode(write, into: &rowBuffer) else {
            throw .corrupt("queue \(write.sequence): its topic is too long")
        }
        try writer.seal(
            rowBuffer, key: keys.queue, for: write.sequence, at: place, into: &sealedBuffer)
        statements.append.bind(1, write.sequence)
        statements.append.bind(2, milliseconds)
        try statements.append.run(5, blob: sealedBuffer)
        state.lastSequence = write.sequence
        state.add(messages: 1, bytes: Int64(sealedBuffer.count) + QueueRow.overhead)
    }

    func remove(_ sequences: [Int64]) throws(StoreError) {
        var rest = sequences.sorted()[...]
        while let first = rest.popFirst() {
            var last = first
            while let next = rest.first, next == last || next &- 1 == last {
                last = next
                rest.removeFirst()
            }
            try remove(first...last)
        }
        try giveBackPages()
        stateIsChanged = stateIsChanged || !sequences.isEmpty
    }

    private func remove(_ run: ClosedRange<Int64>) throws(StoreError) {
        defer { statements.remove.reset() }
        statements.remove.bind(1, run.lowerBound)
        statements.remove.bind(2, run.upperBound)
        while try statements.remove.step() {
            state.add(messages: -1, bytes: -(statements.remove.int(0) + QueueRow.overhead))
        }
    }

    func destroyQueue() throws(StoreError) {
        let window = try readWindow()
        try connection.run("DELETE FROM queue; DELETE FROM aside; DELETE FROM window")
        try giveBackPages(most: .max)
        try replaceKey(.queue)
        try addToWindow(window)
        state.messages = 0
        state.bytes = 0
        stateIsChanged = true
    }
}
