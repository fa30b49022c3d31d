/// A set of sequence numbers as rising ranges. No two ranges touch.
package struct SequenceSet: Equatable, Sendable {
    package private(set) var ranges: [ClosedRange<Int64>] = []
    /// How many numbers the set contains.
    package private(set) var count: Int64 = 0

    package init() {}

    package init(_ range: ClosedRange<Int64>) { insert(range) }

    package var isEmpty: Bool { ranges.isEmpty }
    package var first: Int64? { ranges.first?.lowerBound }
    package var last: Int64? { ranges.last?.upperBound }

    package func contains(_ number: Int64) -> Bool {
        let index = index(from: number)
        return index < ranges.count && ranges[index].lowerBound <= number
    }

    /// Whether the set contains any number of a range.
    package func overlaps(_ range: ClosedRange<Int64>) -> Bool {
        let index = index(from: range.lowerBound)
        return index < ranges.count && ranges[index].lowerBound <= range.upperBound
    }

    /// The numbers of a range that the set contains.
    package func part(in range: ClosedRange<Int64>) -> SequenceSet {
        var part = SequenceSet()
        var index = index(from: range.lowerBound)
        while index < ranges.count, ranges[index].lowerBound <= range.upperBound {
            part.insert(ranges[index].clamped(to: range))
            index += 1
        }
        return part
    }

    package mutating func insert(_ new: ClosedRange<Int64>) {
        // The fast path: numbers mostly come in order.
        if let last = ranges.last, last.upperBound < .max, new.lowerBound > last.upperBound {
            count += Self.size(new)
            if new.lowerBound == last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...new.upperBound
            } else {
                ranges.append(new)
            }
            return
        }
        let start = index(from: new.lowerBound == .min ? .min : new.lowerBound - 1)
        var (end, merged) = (start, new)
        while end < ranges.count, ranges[end].lowerBound <= new.upperBound
            || ranges[end].lowerBound - 1 == new.upperBound
        {
            merged = min(merged.lowerBound, ranges[end].lowerBound)...max(
                merged.upperBound, ranges[end].upperBound)
            count -= Self.size(ranges[end])
            end += 1
        }
        count += Self.size(merged)
        ranges.replaceSubrange(start..<end, with: [merged])
    }

    package mutating func insert(_ number: Int64) { insert(number...number) }

    package mutating func formUnion(_ other: SequenceSet) {
        for range in other.ranges { insert(range) }
    }

    package mutating func remove(_ gone: ClosedRange<Int64>) {
        let start = index(from: gone.lowerBound)
        var (end, left): (Int, [ClosedRange<Int64>]) = (start, [])
        while end < ranges.count, ranges[end].lowerBound <= gone.upperBound {
            let range = ranges[end]
            count -= Self.size(range)
            if range.lowerBound < gone.lowerBound {
                left.append(range.lowerBound...gone.lowerBound - 1)
            }
            if range.upperBound > gone.upperBound {
                left.append(gone.upperBound + 1...range.upperBound)
            }
            end += 1
        }
        for range in left { count += Self.size(range) }
        if start < end { ranges.replaceSubrange(start..<end, with: left) }
    }

    package mutating func subtract(_ other: SequenceSet) {
        for range in other.ranges { remove(range) }
    }

    package mutating func removeAll() { self = SequenceSet() }

    /// The first range that does not end before `number`.
    private func index(from number: Int64) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func size(_ range: ClosedRange<Int64>) -> Int64 {
        range.upperBound &- range.lowerBound &+ 1
    }
}

extension SequenceSet {
    /// Appends the highest `limit` ranges: first their count, then for each the distance from the
    /// previous one and its length.
    func encode(into bytes: inout [UInt8], limit: Int = .max) {
        let kept = ranges.suffix(limit)
        bytes.append(varint: UInt64(kept.count))
        var position: Int64 = 0
        for range in kept {
            bytes.append(varint: UInt64(bitPattern: range.lowerBound &- position))
            bytes.append(varint: UInt64(bitPattern: range.upperBound &- range.lowerBound))
            position = range.upperBound
        }
    }

    /// Nil for bytes that `encode` does not write.
    init?(_ reader: inout ByteReader) {
        guard let count = reader.varint(), count <= 1 << 22 else { return nil }
        var position: Int64 = 0
        for _ in 0..<count {
            guard let distance = reader.varint(), let length = reader.varint() else { return nil }
            let first = position &+ Int64(bitPattern: distance)
            let (last, overflow) = first.addingReportingOverflow(Int64(bitPattern: length))
            guard !overflow, last >= first, first >= 0, isEmpty || first > position else {
                return nil
            }
            insert(first...last)
            position = last
        }
    }
}
