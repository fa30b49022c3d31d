import AgentCore
import Gate

/// The writes that have left the queue: all numbers up to the watermark, and the holes above it.
///
/// Numbers above the last live write are always included. No segment may contain them any more,
/// and they would count as lost.
struct QueueMarks: Equatable {
    /// The most holes between live writes that are stored. The writes of further holes may be
    /// sent again.
    static let holeLimit = 32

    var watermark: Int64 = 0
    var holes = SequenceSet()
    /// The highest sequence number ever appended.
    var last: Int64 = 0

    init(watermark: Int64 = 0, last: Int64 = 0) {
        self.watermark = watermark
        self.last = last
    }

    /// The marks of a queue with these live writes.
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

    /// Removes the numbers that have left.
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

    /// Nil for bytes that `encode` does not write.
    init?(_ reader: inout ByteReader) {
        guard let watermark = reader.varint().flatMap({ Int64(exactly: $0) }),
            let last = reader.varint().flatMap({ Int64(exactly: $0) }),
            let holes = SequenceSet(&reader)
        else { return nil }
        (self.watermark, self.last, self.holes) = (watermark, last, holes)
    }
}

/// Encodes keys inside a frame: sequence, digest.
enum KeyCoding {
    static func encode(_ keys: [KeptKey], into bytes: inout [UInt8]) {
        bytes.append(varint: UInt64(keys.count))
        for key in keys {
            bytes.append(varint: UInt64(clamping: key.sequence))
            bytes.append(digest: key.digest)
        }
    }

    /// Nil for bytes that `encode` does not write.
    static func decode(_ reader: inout ByteReader) -> [KeptKey]? {
        guard let count = reader.varint(), count <= UInt64(UInt16.max) else { return nil }
        var keys: [KeptKey] = []
        for _ in 0..<count {
            guard let sequence = reader.varint().flatMap({ Int64(exactly: $0) }),
                let digest = reader.digest()
            else { return nil }
            keys.append(KeptKey(digest: digest, sequence: sequence))
        }
        return keys
    }
}

/// Encodes bus packets inside a frame: packet id, sequence, digest.
enum WindowCoding {
    static func encode(_ entries: [DeliveredPacket], into bytes: inout [UInt8]) {
        bytes.append(varint: UInt64(entries.count))
        for entry in entries {
            bytes.append(half: entry.packetID)
            bytes.append(varint: UInt64(clamping: entry.sequence))
            bytes.append(digest: entry.digest)
        }
    }

    /// Nil for bytes that `encode` does not write.
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
