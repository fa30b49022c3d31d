import Gate
import Sessions

/// Takes apart the body of a row. Any bytes give writes or an end, never a trap.
struct BatchReader {
    let head: RowHead
    private let session: ObjectID
    private let user: UserID
    private var reader: ByteReader
    private var time: Int64 = 0
    private var targets: [WriteTarget] = []
    /// The sequence of the last write that was read; 0 before the first.
    private(set) var position: Int64 = 0
    private var count: Int64 = 0

    /// One write, whose payload still stands in the body.
    struct Item {
        let sequence: Int64
        let at: Int64
        let target: WriteTarget
        let payload: Range<Int>
    }

    /// Nil for a body of another version, or names in `head` that are none.
    init?(_ body: [UInt8], _ head: RowHead) {
        guard let session = ObjectID(head.session), let user = UserID(head.user) else {
            return nil
        }
        self.session = session
        self.user = user
        self.head = head
        reader = ByteReader(body)
        guard reader.byte() == BatchEncoder.version else { return nil }
    }

    /// Whether all that the head promises was read.
    var isAtEnd: Bool { count >= head.count }

    /// The body, to be used again for another.
    consuming func takeBody() -> [UInt8] { reader.bytes }

    /// Begins anew.
    mutating func rewind() {
        reader = ByteReader(reader.bytes)
        _ = reader.byte()
        time = 0
        targets.removeAll(keepingCapacity: true)
        position = 0
        count = 0
    }

    /// The next write; nil at the end, and for bytes that `BatchEncoder` does not make.
    mutating func next() -> Item? {
        guard !isAtEnd, let distance = reader.varint(), let step = reader.varint(),
            let target = nextTarget(), let size = reader.varint(),
            let length = Int(exactly: size), let payload = reader.skip(length)
        else { return nil }
        let sequence = position &+ Int64(bitPattern: distance)
        guard sequence > position || count == 0, sequence >= head.first, sequence <= head.last
        else { return nil }
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
}
