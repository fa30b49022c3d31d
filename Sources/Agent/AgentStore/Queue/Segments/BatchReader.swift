import Gate
import Sessions

/// Takes apart the opened bytes of a frame of writes. Any bytes give writes or an end, never a
/// trap.
struct BatchReader {
    let header: FrameHeader
    let session: ObjectID
    let user: UserID
    private var reader: ByteReader
    private let start: Int
    private var time: Int64 = 0
    private var targets: [WriteTarget] = []
    /// The sequence of the last write that was read; one before the first at the beginning.
    private(set) var position: Int64 = 0
    private var count: Int64 = 0

    /// One write. Its payload is still in the frame.
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

    /// Whether all that the header promises was read.
    var isAtEnd: Bool { count >= header.count }

    /// Begins again.
    mutating func rewind() {
        reader.move(to: start)
        time = 0
        targets.removeAll(keepingCapacity: true)
        position = header.first - 1
        count = 0
    }

    /// The next write; nil at the end, and for bytes that `BatchEncoder` does not make.
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
            let count = reader.half(), let topic = reader.text(Int(count))
        else { return nil }
        let target = WriteTarget(app: app, className: className, topic: topic)
        targets.remember(target)
        return target
    }

    func write(_ item: Item) -> AcceptedWrite {
        AcceptedWrite(
            sequence: item.sequence, session: session, user: user,
            acceptedAt: Timestamp(milliseconds: item.at), app: item.target.app,
            className: item.target.className, topic: item.target.topic,
            payload: Array(reader.bytes[item.payload]))
    }

    /// What follows the writes. Reads all of them; nil where they cannot be read.
    mutating func tail() -> ByteReader? {
        while !isAtEnd {
            guard next() != nil else { return nil }
        }
        return reader
    }
}
