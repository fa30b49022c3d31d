import Cryptography
import Sessions

/// Seals and opens the frames of one segment, with one cipher context for all of them.
///
/// Each segment has its own key, derived from the queue's key. So the number of random nonces per
/// key stays far below its limit, however long the queue exists. A frame is bound to its kind,
/// its segment, its offset and its header. In any other place it cannot be opened.
/// Source: NIST SP 800-38D §8.3.
struct SegmentCipher: ~Copyable {
    let segment: SegmentID
    private var cipher: RecordCipher
    private var nonces = NoncePool()
    /// A buffer that is reused for each frame.
    private var place: [UInt8] = []

    init(_ key: SecretBytes, _ segment: SegmentID) throws(StoreError) {
        self.segment = segment
        var info = Array("postern/queue/1 segment".utf8)
        info.append(number: segment.generation)
        info.append(number: segment.number)
        do throws(CryptographyError) {
            cipher = try RecordCipher(key: try HKDFSHA256.derive(
                from: key, salt: [], info: info, count: AES256GCM.keyCount))
        } catch {
            throw StoreError(error)
        }
    }

    /// Appends a whole frame to `bytes`: header, nonce, ciphertext, tag, and zeros up to where
    /// the next frame may begin. `offset` is its future offset in the segment. Returns its
    /// header.
    @discardableResult
    mutating func seal(
        _ plaintext: borrowing [UInt8], _ header: FrameHeader, _ kind: FrameKind, at offset: Int,
        into bytes: inout [UInt8]
    ) throws(StoreError) -> FrameHeader {
        var header = header
        header.sealedBytes = plaintext.count + RecordBox.overhead
        let end = bytes.count + header.byteCount
        let begin = bytes.count
        header.encode(into: &bytes)
        note(kind, at: offset, bytes[begin...])
        do throws(CryptographyError) {
            let nonce = try nonces.next()
            let place = place
            bytes.append(contentsOf: nonce)
            try cipher.seal(plaintext.span, nonce: nonce.span, aad: place.span, into: &bytes)
        } catch {
            throw StoreError(error)
        }
        bytes.append(contentsOf: repeatElement(0, count: end - bytes.count))
        return header
    }

    /// Opens a frame. Its bytes begin with its header. Nil if any bit was changed.
    mutating func open(
        _ frame: borrowing [UInt8], _ header: FrameHeader, _ kind: FrameKind, at offset: Int
    ) throws(StoreError) -> [UInt8]? {
        guard frame.count >= FrameHeader.byteCount + header.sealedBytes else { return nil }
        note(kind, at: offset, frame[..<FrameHeader.byteCount])
        let sealed = frame.span.extracting(
            FrameHeader.byteCount..<FrameHeader.byteCount + header.sealedBytes)
        var plaintext: [UInt8] = []
        let place = place
        do throws(CryptographyError) {
            try cipher.open(
                sealed.extracting(droppingFirst: AES256GCM.nonceCount),
                nonce: sealed.extracting(first: AES256GCM.nonceCount), aad: place.span,
                into: &plaintext)
            return plaintext
        } catch .notAuthentic {
            return nil
        } catch {
            throw StoreError(error)
        }
    }

    private mutating func note(_ kind: FrameKind, at offset: Int, _ header: ArraySlice<UInt8>) {
        place.removeAll(keepingCapacity: true)
        place.append(contentsOf: kind.rawValue.utf8)
        place.append(0)
        place.append(number: segment.generation)
        place.append(number: segment.number)
        place.append(number: Int64(offset))
        place.append(contentsOf: header)
    }
}

/// The id of a segment. After the queue was destroyed, segments have another generation.
struct SegmentID: Hashable, Comparable {
    let generation: Int64
    let number: Int64

    static func < (one: Self, other: Self) -> Bool {
        (one.generation, one.number) < (other.generation, other.number)
    }

    /// `GENERATION-NUMBER` in hexadecimal digits. File names sort in the order of the segments.
    var text: String { Self.hex(generation, 8) + "-" + Self.hex(number, 12) }

    init(generation: Int64, number: Int64) {
        self.generation = generation
        self.number = number
    }

    init?(_ text: Substring) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let generation = Int64(parts[0], radix: 16),
            let number = Int64(parts[1], radix: 16), generation >= 0, number >= 0
        else { return nil }
        self.init(generation: generation, number: number)
        guard self.text == text else { return nil }
    }

    private static func hex(_ number: Int64, _ digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// Random nonces, fetched many at a time.
struct NoncePool {
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
