/// Whole numbers from 1 as ranges that rise and stand apart; the lowest are forgotten where
/// there would be more than `limit`.
struct NumberRanges: Equatable, Sendable {
    private(set) var ranges: [ClosedRange<Int64>] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a range, joined with those that it meets or touches.
    mutating func insert(_ range: ClosedRange<Int64>) {
        guard range.lowerBound > 0 else { return }
        // Below the lower bound by one, and above the upper bound, without overflow.
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

    /// What of `range` is not among the numbers.
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

    /// The first of which `isPast` is true, which must be true of all after it.
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
