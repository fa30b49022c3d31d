import Gate
import Sessions

/// The number of writes in a batch, and their range.
struct BatchHead: Equatable {
    var first: Int64 = 0
    var last: Int64 = 0
    var count: Int64 = 0
    /// When the oldest write was accepted, in milliseconds.
    var oldest: Int64 = .max
}

/// Encodes writes of one session.
///
/// A version byte comes first. Each write has the distance from the previous one in sequence and
/// in time, its target, the payload's length, and the payload. A target is 0 with app, class,
/// operation and topic, or how many new targets ago it was written. The first sequence number is
/// in the frame's header.
struct BatchEncoder {
    static let version: UInt8 = 1
    /// A batch with this many bytes accepts no more writes.
    static let sizeLimit = 256 * 1024
    /// The sequence numbers of a batch span less than this.
    static let spanLimit: Int64 = 1 << 20
    /// How many different targets are remembered.
    static let memory = 16

    private(set) var head = BatchHead()
    private var time: Int64 = 0
    private var targets: [WriteTarget] = []

    func begin(in bytes: inout [UInt8]) { bytes.append(Self.version) }

    /// Whether a write with this sequence number may follow in the same batch.
    func takes(_ sequence: Int64, into bytes: [UInt8]) -> Bool {
        head.count == 0 || bytes.count < Self.sizeLimit && sequence > head.last
            && sequence &- head.first < Self.spanLimit
    }

    /// Appends a write. False for a name or topic that MQTT could not carry.
    mutating func append(_ write: AcceptedWrite, to bytes: inout [UInt8]) -> Bool {
        if head.count == 0 { (head.first, head.last) = (write.sequence, write.sequence) }
        bytes.append(varint: UInt64(bitPattern: write.sequence &- head.last))
        let step = write.acceptedAt.milliseconds &- time
        bytes.append(varint: UInt64(bitPattern: step << 1 ^ step >> 63))
        guard appendTarget(WriteTarget(write), to: &bytes) else { return false }
        bytes.append(varint: UInt64(write.payload.count))
        bytes.append(contentsOf: write.payload)
        head.last = write.sequence
        head.count += 1
        time = write.acceptedAt.milliseconds
        head.oldest = min(head.oldest, time)
        return true
    }

    private mutating func appendTarget(_ target: WriteTarget, to bytes: inout [UInt8]) -> Bool {
        if let index = targets.lastIndex(of: target) {
            bytes.append(UInt8(truncatingIfNeeded: targets.count - index))
            return true
        }
        bytes.append(0)
        guard bytes.append(short: target.app.description),
            bytes.append(short: target.className.description),
            bytes.append(short: target.operation.rawValue),
            let count = UInt16(exactly: target.topic.utf8.count)
        else { return false }
        bytes.append(half: count)
        bytes.append(contentsOf: target.topic.utf8)
        targets.remember(target)
        return true
    }
}

/// The app, class, operation and topic of a write.
struct WriteTarget: Equatable {
    let app: AppName
    let className: ClassName
    let operation: Operation
    let topic: String
}

extension WriteTarget {
    init(_ write: AcceptedWrite) {
        self.init(
            app: write.app, className: write.className, operation: write.operation,
            topic: write.topic)
    }
}

extension [WriteTarget] {
    mutating func remember(_ target: WriteTarget) {
        if count == BatchEncoder.memory { removeFirst() }
        append(target)
    }
}
