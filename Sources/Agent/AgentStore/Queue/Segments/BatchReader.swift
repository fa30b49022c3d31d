import Gate
import Sessions

/// Decodes the opened bytes of a frame of writes. Any bytes return writes or an end, never a
/// trap.
struct BatchReader {
    let header: FrameHeader
    let session: ObjectID
    let user: UserID
    private var reader: ByteReader
    private let start: Int
    private var time: Int64 = 0
    private var targets: [WriteTarget] = []
    /// The sequence number of the last write that was read. At the beginning it is one below the
    /// first.
    private(set) var position: Int64 = 0
    private var count: Int64 = 0

    /// One write. Its payload stays in the frame's bytes.
    struct Item {
        let sequence: Int64
        let at: Int64
        let target: WriteTarget
        let payload: Range<Int>
    }

    /// Nil for bytes of another version.
    init?(_ bytes: [UInt8], _ header: FrameHeader) {
        var reader = ByteReader(bytes)
        guard let session = reader.shortText().flatMap({ ObjectID($0) }),
            let user = reader.shortText().flatMap({ UserID($0) }),
            reader.byte() == BatchEncoder.version
        else { return nil }
        self.session = session
        self.user = user
        self.header = header
        self.reader = reader
        start = reader.position
        rewind()
    }

    /// Whether all writes that the header announces were read.
    var isAtEnd: Bool { count >= header.count }

    /// Returns to the first write.
    mutating func rewind() {
        reader.move(to: start)
        time = 0
        targets.removeAll(keepingCapacity: true)
        position = header.first - 1
        count = 0
    }

    /// The next write. Nil at the end, and for bytes that `BatchEncoder` does not write.
    mutating func next() -> Item? {
        guard !isAtEnd, let distance = reader.varint(), let step = reader.varint(),
            let target = nextTarget(), let size = reader.varint(),
            let length = Int(exactly: size), let payload = reader.skip(length)
        else { return nil }
        let before = count == 0 ? header.first : position
        let sequence = before &+ Int64(bitPattern: distance)
        guard sequence > position, sequence <= header.last else { return nil }
        time = time &+ (Int64(bitPattern: step >> 1) ^ -Int64(bitPattern: step & 1))
        position = sequence
        count += 1
        return Item(sequence: sequence, at: time, target: target, payload: payload)
    }

    private mutating func nextTarget() -> WriteTarget? {
        guard let back = reader.byte() else { return nil }
        if back > 0 {
            guard Int(back) <= targets.count else { return nil }
            return targets[targets.count - Int(back)]
        }
        guard let app = reader.shortText().flatMap({ AppName($0) }),
            let className = reader.shortText().flatMap({ ClassName($0) }),
            let operation = reader.shortText().flatMap({ Operation(rawValue: $0) }),
            let count = reader.half(), let topic = reader.text(Int(count))
        else { return nil }
        let target = WriteTarget(
            app: app, className: className, operation: operation, topic: topic)
        targets.remember(target)
        return target
    }

    func write(_ item: Item) -> AcceptedWrite {
        AcceptedWrite(
            sequence: item.sequence, session: session, user: user,
            acceptedAt: Timestamp(milliseconds: item.at), app: item.target.app,
            className: item.target.className, operation: item.target.operation,
            topic: item.target.topic,
            payload: Array(reader.bytes[item.payload]))
    }

    /// The bytes after the writes. Reads all writes first. Nil if they cannot be read.
    mutating func tail() -> ByteReader? {
        while !isAtEnd {
            guard next() != nil else { return nil }
        }
        return reader
    }
}
