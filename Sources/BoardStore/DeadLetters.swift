import Gate
import LinuxIO
import Sessions

/// Writes that no broker takes, sealed as the queue is, in a table of their own.
extension BoardDatabase {
    /// The newest dead letters, at most `limit`, in order of sequence. One that does not open
    /// is passed over and named in `takeDamaged`.
    package func deadLetters(limit: Int) throws(StoreError) -> [DeadLetter] {
        try snapshot { () throws(StoreError) in
            let select = try Statement(connection, """
                SELECT seq, buried, sid, user, body FROM dead ORDER BY seq DESC LIMIT ?1
                """)
            select.bind(1, Int64(max(0, limit)))
            var letters: [DeadLetter] = []
            while try select.step() {
                if let letter = try openLetter(select) {
                    letters.append(letter)
                } else {
                    note(DamagedRecord(name: "dead letter \(select.int(0))", sequence: nil))
                }
            }
            return letters.reversed()
        }
    }

    func bury(_ burials: [Burial]) throws(StoreError) {
        let sorted = burials.sorted { $0.sequence < $1.sequence }
        var index = 0
        while index < sorted.count {
            let sequence = sorted[index].sequence
            guard let head = try heads(touching: sequence...sequence).first else {
                index += 1
                continue
            }
            var reasons: [Int64: String] = [:]
            while index < sorted.count, sorted[index].sequence <= head.last {
                reasons[sorted[index].sequence] = sorted[index].reason
                index += 1
            }
            for write in try take(from: head, .dead, { reasons[$0.sequence] != nil }) {
                try bury(write, reasons[write.sequence] ?? "")
            }
        }
        try trimDead()
    }

    private func bury(_ write: AcceptedWrite, _ reason: String) throws(StoreError) {
        try addLetter(DeadLetter(
            write: write, reason: reason,
            buriedAt: Timestamp(milliseconds: SystemClock.wallMilliseconds)))
    }

    func addLetter(_ letter: DeadLetter) throws(StoreError) {
        let (write, buried) = (letter.write, letter.buriedAt.milliseconds)
        var reason = letter.reason
        while reason.utf8.count > DeadLetter.reasonLimit { reason.removeLast() }
        rowBuffer.removeAll(keepingCapacity: true)
        var encoder = BatchEncoder()
        guard rowBuffer.append(short: reason) else { return }
        encoder.begin(write.session.description, write.user.description, in: &rowBuffer)
        guard encoder.append(write, class: 0, to: &rowBuffer) else { return }
        let place = Place.dead(
            write.sequence, at: buried, session: write.session.description,
            user: write.user.description, generation: keys.queue.generation)
        sealedBuffer.removeAll(keepingCapacity: true)
        try writer.seal(
            rowBuffer, key: keys.queue, for: write.sequence, at: place, into: &sealedBuffer)
        let insert = try Statement(connection, """
            INSERT OR REPLACE INTO dead (seq, buried, sid, user, body)
                VALUES (?1, ?2, ?3, ?4, ?5)
            """)
        insert.bind(1, write.sequence)
        insert.bind(2, buried)
        insert.bind(3, write.session.description)
        insert.bind(4, write.user.description)
        try insert.run(5, blob: sealedBuffer)
        state.dead += 1
        state.deadBytes += Int64(sealedBuffer.count)
        stateIsChanged = true
    }

    /// Deletes the oldest until what is left keeps to its bounds.
    func trimDead() throws(StoreError) {
        guard state.dead > DeadLetter.kept || state.deadBytes > DeadLetter.bytesKept else {
            return
        }
        let select = try Statement(connection, "SELECT seq, length(body) FROM dead ORDER BY seq")
        var (last, count, bytes): (Int64, Int64, Int64) = (.min, state.dead, state.deadBytes)
        while count > DeadLetter.kept || bytes > DeadLetter.bytesKept, try select.step() {
            last = select.int(0)
            count -= 1
            bytes -= select.int(1)
        }
        select.reset()
        try connection.run("DELETE FROM dead WHERE seq <= \(last)")
        (state.dead, state.deadBytes) = (max(0, count), max(0, bytes))
        stateIsChanged = true
    }

    /// Opens the dead letter that `select` stands on: seq, buried, sid, user, body.
    func openLetter(_ select: Statement) throws(StoreError) -> DeadLetter? {
        let (sequence, buried) = (select.int(0), select.int(1))
        let (session, user) = (select.text(2), select.text(3))
        let place = Place.dead(
            sequence, at: buried, session: session, user: user,
            generation: keys.queue.generation)
        var plain: [UInt8] = []
        let isWhole = try select.withBlob(4) { (body) throws(StoreError) in
            try reader.open(body, key: keys.queue, for: sequence, at: place, into: &plain)
        }
        guard isWhole else { return nil }
        return DeadLetter(plain, sequence, buried, session, user)
    }
}

extension DeadLetter {
    /// Takes apart what `addLetter` sealed; nil for other bytes.
    init?(_ plain: [UInt8], _ sequence: Int64, _ buried: Int64, _ session: String, _ user: String) {
        var bytes = ByteReader(plain)
        guard let reason = bytes.shortText() else { return nil }
        let head = RowHead(
            first: sequence, last: sequence, count: 1, oldest: 0, classes: 0, session: session,
            user: user)
        guard var row = BatchReader(bytes.rest(), head), let item = row.next() else { return nil }
        self.init(
            write: row.write(item), reason: reason, buriedAt: Timestamp(milliseconds: buried))
    }
}
