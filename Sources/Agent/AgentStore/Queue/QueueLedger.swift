import Gate

/// The permanent count of the queue's losses.
struct QueueLedger: Equatable {
    var losses = QueueLosses()
    /// The number of frames that could not be opened since the first start.
    var damaged: Int64 = 0

    init() {}

    func encode(into bytes: inout [UInt8]) {
        bytes.append(number: damaged)
        bytes.append(number: losses.total)
        bytes.append(half: UInt16(clamping: losses.ranges.count))
        for range in losses.ranges {
            bytes.append(number: range.lowerBound)
            bytes.append(number: range.upperBound)
        }
        append(
            Dictionary(uniqueKeysWithValues: losses.causes.map { ($0.rawValue, $1) }), to: &bytes)
        append(losses.drops, to: &bytes)
    }

    private func append(_ counts: [String: Int64], to bytes: inout [UInt8]) {
        let fitting = counts.filter { $0.key.utf8.count <= 255 }
        bytes.append(half: UInt16(clamping: fitting.count))
        for (name, value) in fitting.sorted(by: { $0.key < $1.key })
        where bytes.append(short: name) { bytes.append(number: value) }
    }

    /// Nil for bytes that `encode` does not write.
    init?(_ reader: inout ByteReader) {
        guard let damaged = reader.number(), let total = reader.number(),
            let ranges = Self.ranges(&reader),
            let causes = Self.counts(&reader, limit: QueueLosses.Cause.allCases.count),
            let drops = Self.counts(&reader, limit: QueueLosses.classLimit)
        else { return nil }
        self.damaged = damaged
        losses.total = total
        losses.ranges = ranges
        for (name, value) in causes {
            guard let cause = QueueLosses.Cause(rawValue: name) else { return nil }
            losses.causes[cause] = value
        }
        losses.drops = drops
    }

    private static func counts(_ reader: inout ByteReader, limit: Int) -> [String: Int64]? {
        guard let count = reader.half(), count <= limit else { return nil }
        var counts: [String: Int64] = [:]
        for _ in 0..<count {
            guard let name = reader.shortText(), let value = reader.number() else { return nil }
            counts[name] = value
        }
        return counts
    }

    private static func ranges(_ reader: inout ByteReader) -> [ClosedRange<Int64>]? {
        guard let count = reader.half(), count <= QueueLosses.rangeLimit else { return nil }
        var ranges: [ClosedRange<Int64>] = []
        for _ in 0..<count {
            guard let first = reader.number(), let last = reader.number(), first <= last,
                first > (ranges.last?.upperBound ?? .min)
            else { return nil }
            ranges.append(first...last)
        }
        return ranges
    }
}
