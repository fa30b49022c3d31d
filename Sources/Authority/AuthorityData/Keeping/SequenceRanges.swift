/// The sequence numbers of one board that the store has seen, also those of deleted records. So a
/// record that comes again is known, whatever became of the first.
///
/// A board numbers its records one after another, so a few ranges hold all of them. With more than
/// `limit` ranges the oldest gap is closed: a record that comes so late counts as repeated.
struct SequenceRanges: Equatable, Sendable {
    static let limit = 256

    private(set) var ranges: [ClosedRange<Int64>] = []

    init() {}

    /// Whether the number is new.
    mutating func insert(_ number: Int64) -> Bool {
        // Most numbers follow the last one.
        var index = ranges.count
        while index > 0, ranges[index - 1].lowerBound > number { index -= 1 }
        if index > 0, ranges[index - 1].contains(number) { return false }
        let joinsLower = index > 0 && ranges[index - 1].upperBound &+ 1 == number
        let joinsUpper = index < ranges.count && ranges[index].lowerBound &- 1 == number
        switch (joinsLower, joinsUpper) {
        case (true, true):
            ranges[index - 1] = ranges[index - 1].lowerBound...ranges[index].upperBound
            ranges.remove(at: index)
        case (true, false): ranges[index - 1] = ranges[index - 1].lowerBound...number
        case (false, true): ranges[index] = number...ranges[index].upperBound
        case (false, false): ranges.insert(number...number, at: index)
        }
        if ranges.count > Self.limit {
            ranges[1] = ranges[0].lowerBound...ranges[1].upperBound
            ranges.remove(at: 0)
        }
        return true
    }

    /// 16 bytes a range, for a column.
    var bytes: [UInt8] {
        ranges.flatMap { range in
            [range.lowerBound, range.upperBound].flatMap { number in
                (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
            }
        }
    }

    /// Nil for bytes that no ranges have written.
    init?(bytes: [UInt8]) {
        guard bytes.count.isMultiple(of: 16) else { return nil }
        let numbers = stride(from: 0, to: bytes.count, by: 8).map { start in
            bytes[start..<start + 8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
        for index in stride(from: 0, to: numbers.count, by: 2) {
            guard numbers[index] <= numbers[index + 1],
                ranges.last.map({ $0.upperBound < numbers[index] }) ?? true
            else { return nil }
            ranges.append(numbers[index]...numbers[index + 1])
        }
    }
}
