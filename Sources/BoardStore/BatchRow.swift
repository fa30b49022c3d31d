import Gate
import Sessions

/// What stands of a row of the queue in columns of its own, in clear, and bound to its body.
struct RowHead: Equatable {
    /// No row holds so many writes, nor sequences that are so far apart.
    static let countLimit: Int64 = 1 << 20

    var first: Int64
    var last: Int64
    /// How many writes the body holds.
    var count: Int64
    /// When the oldest of them was accepted, in milliseconds.
    var oldest: Int64
    /// A bit for each class among them.
    var classes: Int64
    var session: String
    var user: String
    /// The length of the body in bytes.
    var size = 0

    /// Whether each number in first...last is there.
    var isDense: Bool { last &- first == count &- 1 }

    /// What the row takes in the file.
    var cost: Int64 {
        let numbers = [last, count, oldest, classes].reduce(0) { $0 + RowCost.bytes(of: $1) }
        return RowCost.bytes(record: size + session.utf8.count + user.utf8.count + numbers)
    }
}

/// How many bytes of the file a row takes: its share of a leaf page, and its overflow pages.
///
/// Source: sqlite.org/fileformat2.html, "B-tree Pages".
enum RowCost {
    private static let page = 4096
    /// The record's header: its length, and the types of eight columns.
    private static let header = 10
    /// A cell's length and row id, and the pointer to it.
    private static let cell = 7

    /// What a number takes in a record.
    static func bytes(of number: Int64) -> Int {
        switch number.magnitude {
        case 0, 1: 0
        case ...0x7F: 1
        case ...0x7FFF: 2
        case ...0x7F_FFFF: 3
        case ...0x7FFF_FFFF: 4
        case ...0x7FFF_FFFF_FFFF: 6
        default: 8
        }
    }

    static func bytes(record: Int) -> Int64 {
        let payload = record + header
        let (most, least) = (page - 35, (page - 12) * 32 / 255 - 23)
        guard payload > most else { return share(payload) }
        let rest = least + (payload - least) % (page - 4)
        let local = rest <= most ? rest : least
        let overflow = (payload - local + page - 5) / (page - 4)
        return Int64(overflow * page) + share(local + 4)
    }

    private static func share(_ local: Int) -> Int64 {
        Int64(page / max(1, (page - 8) / (local + cell)))
    }
}

/// Puts writes of one session behind one another, as they stand in a row's body.
///
/// A version comes first. Each write has: its distance from the one before in sequence and in
/// time; where it goes (0 and app, class and topic, or how many different ones ago that was
/// said); the payload's length; the payload.
struct BatchEncoder {
    static let version: UInt8 = 2
    /// A row takes no more writes once its body has so many bytes.
    static let sizeLimit = 256 * 1024
    /// How many different destinations are remembered.
    static let memory = 16

    private(set) var head = RowHead(
        first: 0, last: 0, count: 0, oldest: 0, classes: 0, session: "", user: "")
    private var time: Int64 = 0
    private var targets: [WriteTarget] = []

    /// Begins a body in `row`, which must be empty.
    mutating func begin(_ session: String, _ user: String, in row: inout [UInt8]) {
        head = RowHead(
            first: 0, last: 0, count: 0, oldest: .max, classes: 0, session: session, user: user)
        time = 0
        targets.removeAll(keepingCapacity: true)
        row.append(Self.version)
    }

    /// Whether a write of this sequence may follow in the same row.
    func takes(_ sequence: Int64, into row: [UInt8]) -> Bool {
        head.count == 0 || row.count < Self.sizeLimit && sequence > head.last
            && sequence &- head.first < RowMarks.spanLimit
    }

    /// Appends a write. False for a name or topic that MQTT could not carry.
    mutating func append(_ write: AcceptedWrite, class bit: Int64, to row: inout [UInt8]) -> Bool {
        if head.count == 0 { head.first = write.sequence }
        row.append(varint: UInt64(bitPattern: write.sequence &- (head.count == 0 ? 0 : head.last)))
        let step = write.acceptedAt.milliseconds &- time
        row.append(varint: UInt64(bitPattern: step << 1 ^ step >> 63))
        guard appendTarget(WriteTarget(write), to: &row) else { return false }
        row.append(varint: UInt64(write.payload.count))
        row.append(contentsOf: write.payload)
        head.last = write.sequence
        head.count += 1
        head.classes |= bit
        time = write.acceptedAt.milliseconds
        head.oldest = min(head.oldest, time)
        return true
    }

    private mutating func appendTarget(_ target: WriteTarget, to row: inout [UInt8]) -> Bool {
        if let index = targets.lastIndex(of: target) {
            row.append(UInt8(truncatingIfNeeded: targets.count - index))
            return true
        }
        row.append(0)
        guard row.append(short: target.app.description),
            row.append(short: target.className.description),
            let count = UInt16(exactly: target.topic.utf8.count)
        else { return false }
        row.append(half: count)
        row.append(contentsOf: target.topic.utf8)
        targets.remember(target)
        return true
    }
}

/// Where a write comes from and goes to.
struct WriteTarget: Equatable {
    let app: AppName
    let className: ClassName
    let topic: String
}

extension WriteTarget {
    init(_ write: AcceptedWrite) {
        self.init(app: write.app, className: write.className, topic: write.topic)
    }
}

extension [WriteTarget] {
    mutating func remember(_ target: WriteTarget) {
        if count == BatchEncoder.memory { removeFirst() }
        append(target)
    }
}
