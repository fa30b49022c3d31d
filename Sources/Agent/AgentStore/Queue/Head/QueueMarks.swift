import AgentCore
import Gate

/// What has left the queue: all up to the watermark, and these above it.
///
/// What has left behind the last that is still there is always among them: no segment may show
/// those numbers any more, and they would be taken for lost.
struct QueueMarks: Equatable {
    /// More than these between others are not written down: what they stand for may be sent once
    /// more.
    static let holeLimit = 32

    var watermark: Int64 = 0
    var holes = SequenceSet()
    /// The highest sequence ever appended.
    var last: Int64 = 0

    init(watermark: Int64 = 0, last: Int64 = 0) {
        self.watermark = watermark
        self.last = last
    }

    /// Of a queue in which these are still to be delivered.
    init(live: SequenceSet, last: Int64) {
        self.last = last
        watermark = live.first.map { $0 - 1 } ?? last
        if let end = live.last, end < last { holes.insert(end + 1...last) }
        var position = watermark
        for range in live.ranges.prefix(Self.holeLimit + 1) {
            if range.lowerBound > position + 1 { holes.insert(position + 1...range.lowerBound - 1) }
            position = range.upperBound
        }
    }

    /// Takes out what has left.
    func apply(to live: inout SequenceSet) {
        if watermark > 0 { live.remove(0...watermark) }
        live.subtract(holes)
    }

    mutating func merge(_ other: QueueMarks) {
        watermark = max(watermark, other.watermark)
        holes.formUnion(other.holes)
        last = max(last, other.last)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(varint: UInt64(clamping: watermark))
        bytes.append(varint: UInt64(clamping: last))
        holes.encode(into: &bytes)
    }

    /// Nil for bytes that `encode` does not make.
    init?(_ reader: inout ByteReader) {
        guard let watermark = reader.varint().flatMap({ Int64(exactly: $0) }),
            let last = reader.varint().flatMap({ Int64(exactly: $0) }),
            let holes = SequenceSet(&reader)
        else { return nil }
        (self.watermark, self.last, self.holes) = (watermark, last, holes)
    }
}

/// A part of a frame that tells of packets of the bus: packet id, sequence, digest.
enum WindowCoding {
    static func encode(_ entries: [DeliveredPacket], into bytes: inout [UInt8]) {
        bytes.append(varint: UInt64(entries.count))
        for entry in entries {
            bytes.append(half: entry.packetID)
            bytes.append(varint: UInt64(clamping: entry.sequence))
            bytes.append(digest: entry.digest)
        }
    }

    /// Nil for bytes that `encode` does not make.
    static func decode(_ reader: inout ByteReader) -> [DeliveredPacket]? {
        guard let count = reader.varint(), count <= UInt64(UInt16.max) else { return nil }
        var entries: [DeliveredPacket] = []
        for _ in 0..<count {
            guard let packetID = reader.half(),
                let sequence = reader.varint().flatMap({ Int64(exactly: $0) }),
                let digest = reader.digest()
            else { return nil }
            entries.append(DeliveredPacket(
                packetID: packetID, digest: digest, sequence: sequence, isDurable: true))
        }
        return entries
    }
}
