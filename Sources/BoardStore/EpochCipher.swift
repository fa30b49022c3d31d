import Cryptography
import Sessions

/// Seals and opens what belongs to the queue, with one cipher context for many records.
///
/// Each span of 2^24 sequence numbers has a key of its own, derived from the queue's key, so
/// that random nonces stay far below their limit however long the queue never runs empty.
/// Source: NIST SP 800-38D §8.3.
struct EpochCipher: ~Copyable {
    private var cipher: RecordCipher
    private var generation: Int64
    private var epoch: Int64
    private var nonces = NoncePool()

    init(_ key: DataKey, for sequence: Int64) throws(StoreError) {
        generation = key.generation
        epoch = sequence >> 24
        cipher = try Self.cipher(key, epoch)
    }

    /// Forgets which key it has, after a transaction that may have made one was undone.
    mutating func forget() { generation = -1 }

    /// Appends nonce, ciphertext and tag to `record`.
    mutating func seal(
        _ plaintext: borrowing [UInt8], key: DataKey, for sequence: Int64, at place: [UInt8],
        into record: inout [UInt8]
    ) throws(StoreError) {
        try move(to: key, sequence)
        do throws(CryptographyError) {
            let nonce = try nonces.next()
            record.append(contentsOf: nonce)
            try cipher.seal(
                plaintext.span, nonce: nonce.span, aad: place.span, into: &record)
        } catch {
            throw StoreError(error)
        }
    }

    /// Appends the plaintext of what `seal` made; false, and nothing, when any bit differs.
    mutating func open(
        _ record: Span<UInt8>, key: DataKey, for sequence: Int64, at place: [UInt8],
        into plaintext: inout [UInt8]
    ) throws(StoreError) -> Bool {
        guard record.count >= RecordBox.overhead else { return false }
        try move(to: key, sequence)
        do throws(CryptographyError) {
            try cipher.open(
                record.extracting(droppingFirst: AES256GCM.nonceCount),
                nonce: record.extracting(first: AES256GCM.nonceCount), aad: place.span,
                into: &plaintext)
            return true
        } catch .notAuthentic {
            return false
        } catch {
            throw StoreError(error)
        }
    }

    private mutating func move(to key: DataKey, _ sequence: Int64) throws(StoreError) {
        guard key.generation != generation || sequence >> 24 != epoch else { return }
        cipher = try Self.cipher(key, sequence >> 24)
        generation = key.generation
        epoch = sequence >> 24
    }

    private static func cipher(_ key: DataKey, _ epoch: Int64) throws(StoreError) -> RecordCipher {
        var info = Array("postern/store/1 queue epoch".utf8)
        info.append(number: epoch)
        do throws(CryptographyError) {
            let derived = try HKDFSHA256.derive(
                from: key.secret, salt: [], info: info, count: AES256GCM.keyCount)
            return try RecordCipher(key: derived)
        } catch {
            throw StoreError(error)
        }
    }
}

/// Random nonces, fetched many at a time.
private struct NoncePool {
    private var bytes: [UInt8] = []
    private var used = 0

    mutating func next() throws(CryptographyError) -> [UInt8] {
        if used == bytes.count {
            bytes = try RandomBytes.make(AES256GCM.nonceCount * 128)
            used = 0
        }
        defer { used += AES256GCM.nonceCount }
        return Array(bytes[used..<used + AES256GCM.nonceCount])
    }
}
