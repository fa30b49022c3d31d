import Gate
import Sessions

/// The unencrypted header of a frame: 32 bytes before the sealed ones. The sealed bytes are bound
/// to it.
///
/// It contains the marker, the length of the sealed bytes, and the first sequence number. Then
/// come the distance to the last number, the number of writes, and when the oldest was accepted.
/// All are big-endian.
struct FrameHeader: Equatable {
    static let byteCount = 32
    /// Frames begin at multiples of this, so that the next frame after a damaged one can be
    /// found.
    static let alignment = 8
    private static let marker: UInt32 = 0x5073_4631  // "PsF1"
    static let firstByte = UInt8(marker >> 24)
    /// The most sealed bytes of a frame.
    static let sizeLimit = 1 << 28

    var first: Int64
    var last: Int64
    var count: Int64
    /// When the oldest write was accepted, in milliseconds.
    var oldest: Int64
    /// The bytes of nonce, ciphertext and tag.
    var sealedBytes = 0

    /// The bytes of header and sealed data, up to where the next frame may begin.
    var byteCount: Int { Self.rounded(Self.byteCount + sealedBytes) }

    /// Whether the frame contains each number in `first...last`.
    var isDense: Bool { last &- first == count &- 1 }

    static func rounded(_ bytes: Int) -> Int {
        (bytes + alignment - 1) / alignment * alignment
    }

    func encode(into bytes: inout [UInt8]) {
        for number in [
            Self.marker, UInt32(clamping: sealedBytes),
            UInt32(truncatingIfNeeded: first >> 32), UInt32(truncatingIfNeeded: first),
            UInt32(clamping: last &- first), UInt32(clamping: count),
            UInt32(truncatingIfNeeded: oldest >> 32), UInt32(truncatingIfNeeded: oldest),
        ] {
            bytes.append(half: UInt16(number >> 16))
            bytes.append(half: UInt16(number & 0xFFFF))
        }
    }

    /// The header of a frame without writes.
    static let none = FrameHeader(first: 0, last: 0, count: 0, oldest: 0)

    init(first: Int64, last: Int64, count: Int64, oldest: Int64) {
        self.first = first
        self.last = last
        self.count = count
        self.oldest = oldest
    }

    /// Nil if no frame begins here.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= Self.byteCount else { return nil }
        func number(_ place: Int) -> UInt32 {
            bytes[(bytes.startIndex + 4 * place)...].prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard number(0) == Self.marker else { return nil }
        let (size, span) = (Int(number(1)), Int64(number(4)))
        first = Int64(bitPattern: UInt64(number(2)) << 32 | UInt64(number(3)))
        count = Int64(number(5))
        oldest = Int64(bitPattern: UInt64(number(6)) << 32 | UInt64(number(7)))
        guard size >= RecordBox.overhead, size <= Self.sizeLimit, first >= 0,
            first <= .max - span, count <= span + 1
        else { return nil }
        last = first + span
        sealedBytes = size
    }
}

/// The kinds of frames. A frame is bound to its kind.
enum FrameKind: String {
    /// Writes of one session, and the packets of the bus that brought them.
    case batch
    /// The first frame of each segment.
    case opening
    /// The content list at the end of a full segment.
    case summary
    /// A dead letter.
    case letter
}

/// Builds the plaintext of one frame.
struct FrameBody {
    private(set) var header: FrameHeader
    private(set) var bytes: [UInt8] = []
    private var encoder = BatchEncoder()

    /// A frame of writes of one session.
    init(session: ObjectID, user: UserID) {
        header = FrameHeader(first: 0, last: 0, count: 0, oldest: 0)
        _ = bytes.append(short: session.description)
        _ = bytes.append(short: user.description)
        encoder.begin(in: &bytes)
    }

    /// Whether a write with this sequence number may follow.
    func takes(_ sequence: Int64) -> Bool { encoder.takes(sequence, into: bytes) }

    /// False for a name or topic that MQTT could not carry. The frame must then be discarded.
    mutating func append(_ write: AcceptedWrite) -> Bool {
        encoder.append(write, to: &bytes)
    }

    /// Ends the writes. The caller appends the rest of the frame in `tail`.
    mutating func close(_ tail: (inout [UInt8]) -> Void) {
        let head = encoder.head
        header = FrameHeader(
            first: head.first, last: head.last, count: head.count, oldest: head.oldest)
        tail(&bytes)
    }
}
