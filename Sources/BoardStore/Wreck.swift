import Cryptography
import Gate
import LinuxIO
import Sessions

/// A damaged database file, of which each record counts that opens at its place.
struct Wreck {
    /// Nil where there is no file.
    private let carver: PageCarver?
    private let queueKey: DataKey?
    private(set) var records: [(VaultRecord, SecretBytes)] = []
    private(set) var lostRecords: [String] = []
    /// The highest sequence that shows anywhere, readable or not.
    private(set) var highest: Int64 = 0
    /// What stood beside it, where it opens.
    let copy: IdentityCopy?

    /// Throws `unreadable` when the identity is neither among what can be read nor copied.
    init(_ path: String, _ wrapping: KeyWrapping, copy: IdentityCopy?) throws(StoreError) {
        let carver = try Self.carver(path, isNeeded: copy == nil)
        self.copy = copy
        var keys: [KeyPurpose: DataKey] = [:]
        try carver?.records(.index, columns: 3) { (_, row) throws(StoreError) in
            guard let purpose = row[0].text.flatMap(KeyPurpose.init(rawValue:)),
                let generation = row[1].number, let wrapped = row[2].blob,
                let key = try wrapping.unwrap(wrapped, generation: generation, for: purpose)
            else { return }
            if key.generation > keys[purpose]?.generation ?? 0 { keys[purpose] = key }
        }
        queueKey = keys[.queue]
        self.carver = carver
        try readVault(keys)
        if !records.contains(where: { $0.0 == .identity }) {
            guard let copy else { throw .unreadable("the board's identity cannot be read") }
            records.append((.identity, copy.identity))
            lostRecords.removeAll { $0 == VaultRecord.identity.rawValue }
        }
        noteHighest()
    }

    private static func carver(
        _ path: String, isNeeded: Bool
    ) throws(StoreError) -> PageCarver? {
        do throws(FileFailure) {
            return try PageCarver(path)
        } catch .missing {
            guard isNeeded else { return nil }
            throw .unreadable("there is no board.db")
        } catch {
            throw StoreError(error)
        }
    }

    private mutating func noteHighest() {
        var highest: Int64 = 0
        // A damaged number must not use up all that are to come.
        func note(_ number: Int64?) {
            if let number, number <= .max / 2 { highest = max(highest, number) }
        }
        // Batches, the state, the redelivery window, rows set aside, dead letters: each tells of
        // numbers that were given, and the page of any may be the damaged one.
        carver?.records(.table, columns: 8) { (first, row) in
            note(first)
            note(row[1].number)
        }
        carver?.records(.table, columns: 3) { (_, row) in note(row[1].number) }
        carver?.records(.table, columns: 2) { (last, _) in note(last) }
        carver?.records(.table, columns: 4) { (first, row) in
            note(first)
            note(row[1].number)
        }
        carver?.records(.table, columns: 5) { (sequence, _) in note(sequence) }
        self.highest = highest
    }

    private mutating func readVault(_ keys: [KeyPurpose: DataKey]) throws(StoreError) {
        var found: [VaultRecord: SecretBytes] = [:]
        var seen: Set<VaultRecord> = []
        try carver?.records(.index, columns: 2) { (_, row) throws(StoreError) in
            guard let record = row[0].text.flatMap(VaultRecord.init(rawValue:)),
                let sealed = row[1].blob
            else { return }
            seen.insert(record)
            guard let key = keys[record.purpose] else { return }
            let place = Place.vault(record, generation: key.generation)
            if let secret = try RecordBox.open(sealed, under: key.secret, at: place) {
                found[record] = secret
            }
        }
        for record in VaultRecord.allCases {
            if let secret = found[record] {
                records.append((record, secret))
            } else if seen.contains(record) {
                lostRecords.append(record.rawValue)
            }
        }
    }

    /// Lends the writes of each row that opens, in no order of rows.
    func rows(_ body: ([AcceptedWrite]) throws(StoreError) -> Void) throws(StoreError) {
        guard let key = queueKey else { return }
        var cipher = try EpochCipher(key, for: 0)
        let shared = Place.batch(generation: key.generation)
        try carver?.records(.table, columns: 8) { (first, row) throws(StoreError) in
            guard let head = RowHead(first, row), let sealed = row[7].blob else { return }
            var place = shared
            Place.append(head, to: &place)
            var plain: [UInt8] = []
            guard try cipher.open(sealed.span, key: key, for: first, at: place, into: &plain),
                var reader = BatchReader(plain, head)
            else { return }
            var writes: [AcceptedWrite] = []
            while let item = reader.next() { writes.append(reader.write(item)) }
            try body(writes)
        }
    }

    func letters(_ body: (DeadLetter) throws(StoreError) -> Void) throws(StoreError) {
        guard let key = queueKey else { return }
        var cipher = try EpochCipher(key, for: 0)
        try carver?.records(.table, columns: 5) { (sequence, row) throws(StoreError) in
            guard let buried = row[1].number, let session = row[2].text,
                let user = row[3].text, let sealed = row[4].blob
            else { return }
            let place = Place.dead(
                sequence, at: buried, session: session, user: user, generation: key.generation)
            var plain: [UInt8] = []
            guard try cipher.open(sealed.span, key: key, for: sequence, at: place, into: &plain),
                let letter = DeadLetter(plain, sequence, buried, session, user)
            else { return }
            try body(letter)
        }
    }

    /// The newest entries of the redelivery window.
    func window() throws(StoreError) -> [WindowEntry] {
        guard let key = queueKey else { return [] }
        var cipher = try EpochCipher(key, for: 0)
        var entries: [WindowEntry] = []
        try carver?.records(.table, columns: 2) { (last, row) throws(StoreError) in
            guard let sealed = row[1].blob else { return }
            let place = Place.window(last: last, generation: key.generation)
            var plain: [UInt8] = []
            if try cipher.open(sealed.span, key: key, for: last, at: place, into: &plain) {
                entries += [WindowEntry](plain) ?? []
            }
        }
        return entries.sorted { $0.sequence < $1.sequence }.suffix(WindowEntry.kept)
    }

    func state() throws(StoreError) -> QueueState? {
        try saved(1, "queue").flatMap { QueueState($0.plain, lastSequence: $0.last) }
    }

    func ledger() throws(StoreError) -> QueueLedger? {
        try saved(2, "ledger").flatMap { QueueLedger($0.plain) }
    }

    private func saved(
        _ id: Int64, _ part: String
    ) throws(StoreError) -> (plain: [UInt8], last: Int64)? {
        guard let key = queueKey else { return nil }
        var cipher = try EpochCipher(key, for: 0)
        var found: (plain: [UInt8], last: Int64)?
        try carver?.records(.table, columns: 3) { (row, values) throws(StoreError) in
            guard row == id, let last = values[1].number, let sealed = values[2].blob else {
                return
            }
            let place = Place.state(part, last: last, generation: key.generation)
            var plain: [UInt8] = []
            if try cipher.open(sealed.span, key: key, for: last, at: place, into: &plain) {
                found = (plain, last)
            }
        }
        return found
    }
}

extension RowHead {
    /// A row of `batch` as its record has it; nil for another table's.
    fileprivate init?(_ first: Int64, _ row: [PageCarver.Value]) {
        guard let last = row[1].number, let count = row[2].number, let oldest = row[3].number,
            let classes = row[4].number, let session = row[5].text, let user = row[6].text
        else { return nil }
        self.init(
            first: first, last: last, count: count, oldest: oldest, classes: classes,
            session: session, user: user)
    }
}
