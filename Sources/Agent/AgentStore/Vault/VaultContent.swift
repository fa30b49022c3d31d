import Cryptography
import Sessions

/// The complete content of the vault.
struct VaultContent {
    private static let version: UInt8 = 1

    var records: [VaultRecord: SecretBytes] = [:]
    var queue: QueueControl
    /// True if the vault was lost and rebuilt from its copy. The session's record is lost, but
    /// the session may still be valid.
    var isRebuilt = false

    init(queue: QueueControl) { self.queue = queue }

    /// Passes the encoded bytes to `body`, then wipes them.
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

    /// Nil for bytes that `withBytes` does not write, such as those of a newer program.
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

/// The part of the queue's state that is in the vault. It must be durable as a whole, or together
/// with the session.
///
/// The vault is always written before the queue's files. A crash in between leaves files with too
/// much data, never too little. The vault shows which data no longer counts. `givenUp` lists
/// writes that were dropped, expired, buried or found damaged. Another `generation` and key mark
/// a queue that was destroyed. Opening the queue removes all of these.
///
/// Only a dead letter is written before the vault. If the vault does not list its write in
/// `givenUp`, the write is still in the queue and is buried again.
struct QueueControl {
    /// The key of all data in the queue. Destroying the queue replaces it.
    var key: SecretBytes
    var generation: Int64
    /// The highest sequence number ever appended, at the last change of the vault.
    var last: Int64 = 0
    /// The number of the newest segment at that change. A segment with this number or a later one
    /// must exist.
    var segment: Int64 = 0
    /// Bus packets up to this sequence number are not delivered again.
    var windowFloor: Int64 = 0
    /// The highest sequence number that may be assigned before anything is on disk. 0: none.
    var reserved: Int64 = 0
    /// The last assigned number, at the last clean end.
    var given: Int64 = 0
    /// Writes that will never be sent, but may still be in a segment.
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
