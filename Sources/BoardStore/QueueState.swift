/// What the store remembers of the queue beside its rows, saved with nearly every change.
struct QueueState: Equatable {
    private static let version: UInt8 = 2
    static let holeLimit = 128

    var lastSequence: Int64 = 0
    /// Writes in all rows, with those removed from a row that still stands.
    var stored: Int64 = 0
    var bytes: Int64 = 0
    /// All up to here have left the queue.
    var watermark: Int64 = 0
    /// Above it, what has left of rows that still stand: at most `holeLimit`, the lowest.
    var holes: [ClosedRange<Int64>] = []
    /// The latest time at which a write was accepted, and the earliest among those that are
    /// older than one before them, as after a step of the clock. Milliseconds.
    var latest: Int64 = 0
    var lateFloor: Int64 = .max
    /// Dead letters, and the bytes of their bodies.
    var dead: Int64 = 0
    var deadBytes: Int64 = 0

    mutating func add(stored count: Int64, bytes size: Int64) {
        stored = max(0, stored &+ count)
        bytes = max(0, bytes &+ size)
    }

    mutating func accepted(at time: Int64) {
        if time < latest { lateFloor = min(lateFloor, time) }
        latest = max(latest, time)
    }

    /// `lastSequence` has a column of its own, which the ciphertext is bound to.
    func encode(into row: inout [UInt8]) {
        row.append(Self.version)
        for number in [stored, bytes, watermark, latest, lateFloor, dead, deadBytes] {
            row.append(number: number)
        }
        for hole in holes {
            row.append(number: hole.lowerBound)
            row.append(number: hole.upperBound)
        }
    }

    init() {}

    /// Nil for bytes that `encode` does not make.
    init?(_ row: [UInt8], lastSequence: Int64) {
        var reader = ByteReader(row)
        guard reader.byte() == Self.version, let stored = reader.number(),
            let bytes = reader.number(), let watermark = reader.number(),
            let latest = reader.number(), let lateFloor = reader.number(),
            let dead = reader.number(), let deadBytes = reader.number(),
            stored >= 0, bytes >= 0, dead >= 0, deadBytes >= 0
        else { return nil }
        while !reader.isAtEnd {
            guard let first = reader.number(), let last = reader.number(), first <= last,
                holes.count < Self.holeLimit
            else { return nil }
            holes.append(first...last)
        }
        self.lastSequence = lastSequence
        self.stored = stored
        self.bytes = bytes
        self.watermark = watermark
        self.latest = latest
        self.lateFloor = lateFloor
        self.dead = dead
        self.deadBytes = deadBytes
    }
}
