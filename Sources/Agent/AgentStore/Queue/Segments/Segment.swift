import Gate
import Sessions

/// The state of one segment of the queue. A segment is a file of frames, one after the other.
struct Segment: Equatable {
    /// The bytes at a file's end that are reserved for the summary.
    static let summaryBytes = 2048
    private static let version: UInt8 = 1
    private static let nameLimit = 24
    private static let userLimit = 4
    /// A summary with more ranges would not fit. The segment is then read completely.
    private static let rangeLimit = 32

    let id: SegmentID
    /// The size of the file in bytes.
    var size: Int
    /// The offset of the first frame with a queued write, or `end`.
    var start = 0
    /// The offset after the last frame.
    var end = 0
    /// The offset of the last frame.
    private(set) var newest = 0
    /// The highest sequence number. 0 if there is none.
    var last: Int64 = 0
    /// When the oldest write that may expire was accepted, in milliseconds.
    var oldest: Int64 = .max
    /// All stored sequence numbers.
    var stored = SequenceSet()
    /// The classes of the stored writes, at most `nameLimit`.
    private(set) var classes: Set<ClassName> = []
    private(set) var hasOtherClasses = false
    /// The users of the stored writes, at most `userLimit`.
    private(set) var users: Set<String> = []

    init(_ id: SegmentID, size: Int) {
        self.id = id
        self.size = size
    }

    /// The space for frames, in bytes.
    var capacity: Int { max(0, size - Self.summaryBytes - EndMark.byteCount) }

    /// Whether the segment contains a queued write.
    var isLive: Bool { start < end }

    /// The bytes that count as queued.
    var liveBytes: Int64 { Int64(max(0, end - start)) }

    mutating func note(_ header: FrameHeader, endingAt end: Int) {
        self.end = end
        newest = end - header.byteCount
        last = max(last, header.last)
        oldest = min(oldest, header.oldest)
    }

    mutating func note(_ write: AcceptedWrite) {
        note(write.sequence, write.className, write.user)
    }

    mutating func note(_ item: BatchReader.Item, of batch: BatchReader) {
        note(item.sequence, item.target.className, batch.user)
    }

    private mutating func note(_ sequence: Int64, _ name: ClassName, _ user: UserID) {
        stored.insert(sequence)
        note(name)
        if users.count < Self.userLimit { users.insert(user.description) }
    }

    private mutating func note(_ name: ClassName) {
        if classes.count < Self.nameLimit {
            classes.insert(name)
        } else if !classes.contains(name) {
            hasOtherClasses = true
        }
    }

    /// Whether the segment may contain a write of a wanted class.
    func mayHold(_ isWanted: (ClassName) -> Bool) -> Bool {
        hasOtherClasses || classes.contains(where: isWanted)
    }

    /// The encoded summary, for `init(_:size:summary:)`. Nil if it would not fit.
    var summary: [UInt8]? {
        guard stored.ranges.count <= Self.rangeLimit else { return nil }
        var bytes = [Self.version, hasOtherClasses ? 1 : 0]
        for number in [Int64(end), Int64(newest), last, oldest] { bytes.append(number: number) }
        stored.encode(into: &bytes)
        for names in [classes.map(\.description), Array(users)] {
            bytes.append(UInt8(clamping: names.count))
            for name in names.sorted() where !bytes.append(short: name) { return nil }
        }
        let room = Self.summaryBytes - FrameHeader.byteCount - RecordBox.overhead
        return bytes.count <= room ? bytes : nil
    }

    /// Nil for bytes that `summary` does not write.
    init?(_ id: SegmentID, size: Int, summary: [UInt8]) {
        var reader = ByteReader(summary)
        guard reader.byte() == Self.version, let others = reader.byte(),
            let end = reader.number(), let newest = reader.number(),
            let last = reader.number(), let oldest = reader.number(),
            let stored = SequenceSet(&reader), let names = Self.names(&reader),
            let users = Self.names(&reader), reader.isAtEnd,
            end >= 0, end <= size, newest >= 0, newest <= end
        else { return nil }
        self.init(id, size: size)
        (self.end, self.newest, self.last) = (Int(end), Int(newest), last)
        (self.oldest, self.stored) = (oldest, stored)
        hasOtherClasses = others == 1
        classes = Set(names.compactMap { ClassName($0) })
        self.users = Set(users)
    }

    private static func names(_ reader: inout ByteReader) -> [String]? {
        guard let count = reader.byte() else { return nil }
        var names: [String] = []
        for _ in 0..<count {
            guard let name = reader.shortText() else { return nil }
            names.append(name)
        }
        return names
    }
}
