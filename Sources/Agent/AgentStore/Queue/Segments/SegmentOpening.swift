import AgentCore

/// The first frame of each segment, opened: the marks of its time, and the packets of the bus
/// that may come again.
///
/// By the openings a segment that was cut is found: the next one tells which numbers were given
/// before it.
struct SegmentOpening: Equatable {
    /// `marks.last` is the highest number before this segment.
    var marks = QueueMarks()
    var packets: [DeliveredPacket] = []
    /// Up to this number nothing is missing at the segment's end, though it may not be there: the
    /// segment was written again without what had left.
    var end: Int64 = 0

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        marks.encode(into: &bytes)
        WindowCoding.encode(packets, into: &bytes)
        bytes.append(varint: UInt64(clamping: end))
        return bytes
    }

    init(marks: QueueMarks, packets: [DeliveredPacket] = [], end: Int64 = 0) {
        self.marks = marks
        self.packets = packets
        self.end = end
    }

    /// Nil for bytes that `bytes` does not make.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let marks = QueueMarks(&reader), let packets = WindowCoding.decode(&reader),
            let end = reader.varint().flatMap({ Int64(exactly: $0) }), reader.isAtEnd
        else { return nil }
        self.init(marks: marks, packets: packets, end: end)
    }
}
