/// A set of whole numbers above 0, as sorted ranges with space between them. Above `limit` ranges,
/// it forgets the lowest.
struct NumberRanges: Equatable, Sendable {
    private(set) var ranges: [ClosedRange<Int64>] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a range. Ranges that overlap or touch it are joined with it.
    mutating func insert(_ range: ClosedRange<Int64>) {
        guard range.lowerBound > 0 else { return }
        // The subtraction is on the lower bounds, because adding to an upper bound could overflow.
        let start = index { $0.upperBound >= range.lowerBound - 1 }
        let end = index { $0.lowerBound - 1 > range.upperBound }
        var joined = range
        if start < end {
            joined = min(range.lowerBound, ranges[start].lowerBound)
                ... max(range.upperBound, ranges[end - 1].upperBound)
        }
        ranges.replaceSubrange(start..<end, with: [joined])
        if ranges.count > limit { ranges.removeFirst(ranges.count - limit) }
    }

    /// The parts of `range` that are not in the set.
    func missing(of range: ClosedRange<Int64>) -> [ClosedRange<Int64>] {
        var rest = range
        var missing: [ClosedRange<Int64>] = []
        for known in ranges[index { $0.upperBound >= range.lowerBound }...] {
            guard known.lowerBound <= rest.upperBound else { break }
            if known.lowerBound > rest.lowerBound {
                missing.append(rest.lowerBound...known.lowerBound - 1)
            }
            guard known.upperBound < rest.upperBound else { return missing }
            rest = known.upperBound + 1...rest.upperBound
        }
        return missing + [rest]
    }

    /// The first index where `isPast` is true. It must be true for all later ranges.
    private func index(_ isPast: (ClosedRange<Int64>) -> Bool) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if isPast(ranges[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
