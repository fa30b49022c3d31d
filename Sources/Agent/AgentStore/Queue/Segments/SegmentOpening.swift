import AgentCore

/// The content of each segment's first frame: the marks of its time, the bus packets that may be
/// delivered again, and the keys of the last writes.
///
/// It shows which numbers were assigned before its segment. So it reveals an earlier segment that
/// was cut.
struct SegmentOpening: Equatable {
    /// `marks.last` is the highest number before this segment.
    var marks = QueueMarks()
    var packets: [DeliveredPacket] = []
    var keys: [KeptKey] = []
    /// Up to this number nothing is missing at the segment's end, even if the segment does not
    /// contain it. A rewritten segment leaves out writes that have left.
    var end: Int64 = 0

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        marks.encode(into: &bytes)
        WindowCoding.encode(packets, into: &bytes)
        KeyCoding.encode(keys, into: &bytes)
        bytes.append(varint: UInt64(clamping: end))
        return bytes
    }

    init(
        marks: QueueMarks, packets: [DeliveredPacket] = [], keys: [KeptKey] = [], end: Int64 = 0
    ) {
        self.marks = marks
        self.packets = packets
        self.keys = keys
        self.end = end
    }

    /// Nil for bytes that `bytes` does not write.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let marks = QueueMarks(&reader), let packets = WindowCoding.decode(&reader),
            let keys = KeyCoding.decode(&reader),
            let end = reader.varint().flatMap({ Int64(exactly: $0) }), reader.isAtEnd
        else { return nil }
        self.init(marks: marks, packets: packets, keys: keys, end: end)
    }
}
