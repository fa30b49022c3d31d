import Cryptography
import Sessions

/// All that is in the vault.
struct VaultContent {
    private static let version: UInt8 = 1

    var records: [VaultRecord: SecretBytes] = [:]
    var queue: QueueControl
    /// The vault was lost and made again from its copy: its session is gone, but not over.
    var isRebuilt = false

    init(queue: QueueControl) { self.queue = queue }

    /// Lends the bytes to `body`, and wipes them.
    func withBytes<R>(_ body: ([UInt8]) throws(StoreError) -> R) throws(StoreError) -> R {
        var bytes = [Self.version, isRebuilt ? 1 : 0]
        defer { bytes.wipe() }
        queue.encode(into: &bytes)
        bytes.append(UInt8(records.count))
        for (record, secret) in records.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            _ = bytes.append(short: record.rawValue)
            bytes.append(varint: UInt64(secret.count))
            var plain = secret.reveal()
            bytes.append(contentsOf: plain)
            plain.wipe()
        }
        return try body(bytes)
    }

    /// Nil for bytes that `withBytes` does not make, as of a newer program.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.version, let flags = reader.byte(),
            let queue = QueueControl(&reader), let count = reader.byte()
        else { return nil }
        self.queue = queue
        isRebuilt = flags & 1 == 1
        for _ in 0..<count {
            guard let record = reader.shortText().flatMap(VaultRecord.init(rawValue:)),
                let size = reader.varint(), let length = Int(exactly: size),
                let range = reader.skip(length)
            else { return nil }
            records[record] = SecretBytes(bytes[range])
        }
        guard reader.isAtEnd else { return nil }
    }
}

/// What of the queue is in the vault, since it must be durable together, or with the session.
///
/// The order against the queue's files is always the same: the vault first, then the files. So a
/// crash between the two leaves files that hold more than they should, never less, and the
/// vault says what of it no longer counts: `givenUp` for what was dropped, expired, buried or
/// found damaged, another `generation` and key for what was destroyed. Opening the queue takes
/// all that out again. A dead letter alone is written before the vault; if the vault does not
/// say that its write was given up, the write is still in the queue, and is buried again.
struct QueueControl {
    /// The key of everything in the queue. Destroying the queue replaces it.
    var key: SecretBytes
    var generation: Int64
    /// The highest sequence ever appended, as of the last change of the vault.
    var last: Int64 = 0
    /// The number of the newest segment, as of then: one with this number or a later one must
    /// be there.
    var segment: Int64 = 0
    /// Packets of the bus up to this sequence do not come again.
    var windowFloor: Int64 = 0
    /// Sequences that were given without a word on disk are at most this; 0: none were.
    var reserved: Int64 = 0
    /// The last one that was given, as of the last clean end.
    var given: Int64 = 0
    /// What will never be sent, and may be in a segment still.
    var givenUp = SequenceSet()
    var ledger = QueueLedger()

    static func fresh(generation: Int64) throws(StoreError) -> QueueControl {
        do throws(CryptographyError) {
            return QueueControl(key: try RandomBytes.secret(32), generation: generation)
        } catch {
            throw StoreError(error)
        }
    }

    init(key: SecretBytes, generation: Int64) {
        self.key = key
        self.generation = generation
    }

    func encode(into bytes: inout [UInt8]) {
        var plain = key.reveal()
        bytes.append(contentsOf: plain)
        plain.wipe()
        for number in [generation, last, segment, windowFloor, reserved, given] {
            bytes.append(number: number)
        }
        givenUp.encode(into: &bytes)
        ledger.encode(into: &bytes)
    }

    init?(_ reader: inout ByteReader) {
        guard let key = reader.skip(32) else { return nil }
        self.key = SecretBytes(reader.bytes[key])
        guard let generation = reader.number(), let last = reader.number(),
            let segment = reader.number(), let floor = reader.number(),
            let reserved = reader.number(), let given = reader.number(),
            let givenUp = SequenceSet(&reader), let ledger = QueueLedger(&reader)
        else { return nil }
        (self.generation, self.last, self.segment) = (generation, last, segment)
        (windowFloor, self.reserved, self.given) = (floor, reserved, given)
        (self.givenUp, self.ledger) = (givenUp, ledger)
    }
}
