import Gate
import Sessions

/// A database as the program before had it, a row for each write: brought up in one
/// transaction, after which nothing of it is left.
extension BoardDatabase {
    /// Begins the transaction, and makes the tables that `bringUp` fills.
    static func beginBringingUp(_ connection: Connection) throws(StoreError) {
        try connection.run("""
            BEGIN IMMEDIATE;
            ALTER TABLE state RENAME TO state1;
            ALTER TABLE aside RENAME TO aside1;
            \(Schema.queueTables)
            """)
    }

    func bringUp() throws(StoreError) {
        let last = try loadStateOne()
        try bringUpRows()
        state.lastSequence = try max(last ?? 0, connection.number("""
            SELECT max(coalesce((SELECT max(last) FROM batch), 0),
                coalesce((SELECT max(last) FROM window), 0),
                coalesce((SELECT max(seq) FROM aside1), 0))
            """) + (last == nil ? 1 << 20 : 0))
        if last == nil { note(DamagedRecord(name: "queue state", sequence: nil)) }
        state.watermark = try frontRow().map { $0.first - 1 } ?? state.lastSequence
        try saveState()
        try saveLedger()
        try connection.run("""
            INSERT OR IGNORE INTO aside (first, last, user, body)
                SELECT seq, seq, user, body FROM aside1;
            DROP TABLE state1; DROP TABLE aside1; DROP TABLE queue;
            COMMIT;
            """)
    }

    /// The highest sequence, nil where it cannot be read; counters go to the ledger.
    private func loadStateOne() throws(StoreError) -> Int64? {
        let select = try Statement(connection, "SELECT last, sealed FROM state1")
        guard try select.step() else { return 0 }
        let last = select.int(0)
        let place = Place.state("queue", last: last, generation: keys.queue.generation)
        var plain: [UInt8] = []
        let isWhole = try select.withBlob(1) { (sealed) throws(StoreError) in
            try reader.open(sealed, key: keys.queue, for: last, at: place, into: &plain)
        }
        var bytes = ByteReader(plain)
        guard isWhole, bytes.byte() == 1, bytes.number() != nil, bytes.number() != nil,
            let count = bytes.half()
        else { return nil }
        for _ in 0..<count {
            guard let name = bytes.shortText(), let value = bytes.number() else { return nil }
            ledger.count(name, value)
        }
        return last
    }

    private func bringUpRows() throws(StoreError) {
        let select = try Statement(
            connection, "SELECT seq, at, sid, user, body FROM queue ORDER BY seq")
        var writes: [AcceptedWrite] = []
        while try select.step() {
            if let write = try openRowOne(select) {
                writes.append(write)
            } else {
                try setAsideOne(select.int(0))
            }
            if writes.count == 256 {
                try append(writes)
                writes.removeAll()
            }
        }
        try append(writes)
    }

    private func setAsideOne(_ sequence: Int64) throws(StoreError) {
        try connection.run("""
            INSERT OR REPLACE INTO aside (first, last, user, body)
                SELECT seq, seq, user, body FROM queue WHERE seq = \(sequence)
            """)
        lose(sequence...sequence, .damaged)
        note(DamagedRecord(name: "queue \(sequence)", sequence: sequence))
    }

    private func openRowOne(_ select: Statement) throws(StoreError) -> AcceptedWrite? {
        let (sequence, time) = (select.int(0), select.int(1))
        let (session, user) = (select.text(2), select.text(3))
        var place = Place.queue(generation: keys.queue.generation)
        Place.append(sequence: sequence, at: time, session: session, user: user, to: &place)
        var plain: [UInt8] = []
        let isWhole = try select.withBlob(4) { (body) throws(StoreError) in
            try reader.open(body, key: keys.queue, for: sequence, at: place, into: &plain)
        }
        var bytes = ByteReader(plain)
        guard isWhole, bytes.byte() == 1,
            let app = bytes.shortText().flatMap({ AppName($0) }),
            let className = bytes.shortText().flatMap({ ClassName($0) }),
            let count = bytes.half(), let topic = bytes.text(Int(count)),
            let session = ObjectID(session), let user = UserID(user)
        else { return nil }
        return AcceptedWrite(
            sequence: sequence, session: session, user: user,
            acceptedAt: Timestamp(milliseconds: time), app: app, className: className,
            topic: topic, payload: bytes.rest())
    }
}
