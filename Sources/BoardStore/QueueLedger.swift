import Gate

/// What is counted for good: saved only when it changes.
struct QueueLedger: Equatable {
    static let counterLimit = 256
    private static let version: UInt8 = 1

    var counters: [String: Int64] = [:]
    var losses = QueueLosses()
    var classes = ClassSlots()

    init() {}

    mutating func count(_ name: String, _ value: Int64) {
        guard name.utf8.count <= 255 else { return }
        guard counters[name] != nil || counters.count < Self.counterLimit else { return }
        counters[name] = value
    }

    func encode(into row: inout [UInt8]) {
        row.append(Self.version)
        append(counters, to: &row)
        row.append(number: losses.total)
        row.append(half: UInt16(clamping: losses.ranges.count))
        for range in losses.ranges {
            row.append(number: range.lowerBound)
            row.append(number: range.upperBound)
        }
        append(Dictionary(uniqueKeysWithValues: losses.causes.map { ($0.rawValue, $1) }), to: &row)
        append(losses.drops, to: &row)
        row.append(half: UInt16(clamping: classes.names.count))
        for name in classes.names { _ = row.append(short: name) }
    }

    private func append(_ counts: [String: Int64], to row: inout [UInt8]) {
        let fitting = counts.filter { $0.key.utf8.count <= 255 }
        row.append(half: UInt16(clamping: fitting.count))
        for (name, value) in fitting where row.append(short: name) { row.append(number: value) }
    }

    /// Nil for bytes that `encode` does not make.
    init?(_ row: [UInt8]) {
        var reader = ByteReader(row)
        guard reader.byte() == Self.version,
            let counters = Self.counts(&reader, limit: Self.counterLimit),
            let total = reader.number(), let ranges = Self.ranges(&reader),
            let causes = Self.counts(&reader, limit: QueueLosses.Cause.allCases.count),
            let drops = Self.counts(&reader, limit: QueueLosses.classLimit),
            let names = Self.names(&reader), reader.isAtEnd
        else { return nil }
        self.counters = counters
        losses.total = total
        losses.ranges = ranges
        for (name, value) in causes {
            guard let cause = QueueLosses.Cause(rawValue: name) else { return nil }
            losses.causes[cause] = value
        }
        losses.drops = drops
        classes = ClassSlots(names)
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

    private static func names(_ reader: inout ByteReader) -> [String]? {
        guard let count = reader.half(), count <= ClassSlots.limit else { return nil }
        var names: [String] = []
        for _ in 0..<count {
            guard let name = reader.shortText() else { return nil }
            names.append(name)
        }
        return names
    }
}
