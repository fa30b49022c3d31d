import Gate
import Sessions

/// What a frame says of itself in clear: 32 bytes before the sealed ones, and part of what they
/// are bound to.
///
/// The marker, the length of what is sealed, the first sequence, how far the last is from it,
/// how many writes there are, and when the oldest was accepted; big-endian.
struct FrameHeader: Equatable {
    static let byteCount = 32
    /// Frames begin at multiples of this, so that the next one is found behind a damaged one.
    static let alignment = 8
    private static let marker: UInt32 = 0x5073_4631  // "PsF1"
    static let firstByte = UInt8(marker >> 24)
    /// No frame has more bytes, nor holds sequences that are farther apart.
    static let sizeLimit = 1 << 28

    var first: Int64
    var last: Int64
    var count: Int64
    /// In milliseconds.
    var oldest: Int64
    /// Bytes of nonce, ciphertext and tag.
    var sealedBytes = 0

    /// Header and sealed bytes, up to where the next frame may begin.
    var byteCount: Int { Self.rounded(Self.byteCount + sealedBytes) }

    /// Whether each number in first...last is there.
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

    /// Of a frame without writes.
    static let none = FrameHeader(first: 0, last: 0, count: 0, oldest: 0)

    init(first: Int64, last: Int64, count: Int64, oldest: Int64) {
        self.first = first
        self.last = last
        self.count = count
        self.oldest = oldest
    }

    /// Nil where no frame begins.
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
    /// The first of each segment.
    case opening
    /// At a segment's end once it is full: what there is in it.
    case summary
    /// A dead letter.
    case letter
}

/// Puts one frame together, opened.
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

    /// Whether a write of this sequence may follow.
    func takes(_ sequence: Int64) -> Bool { encoder.takes(sequence, into: bytes) }

    /// False for a name or topic that MQTT could not carry; then the frame is of no use.
    mutating func append(_ write: AcceptedWrite) -> Bool {
        encoder.append(write, to: &bytes)
    }

    /// Ends the writes. What follows in the frame is for the caller to append.
    mutating func close(_ tail: (inout [UInt8]) -> Void) {
        let head = encoder.head
        header = FrameHeader(
            first: head.first, last: head.last, count: head.count, oldest: head.oldest)
        tail(&bytes)
    }
}
