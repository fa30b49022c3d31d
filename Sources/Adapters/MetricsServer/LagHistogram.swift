/// A histogram of message delays. It has a fixed size, and its percentiles are at most an eighth
/// too high.
package struct LagHistogram: Equatable, Sendable {
    /// One bucket for each millisecond to 15, then eight for each doubling, to 2⁴¹ (70 years).
    private static let longest: Int64 = (1 << 41) - 1
    private static let bucketCount = 16 + 37 * 8

    package init() {}

    private var buckets = [Int64](repeating: 0, count: Self.bucketCount)
    package private(set) var count: Int64 = 0
    package private(set) var longest: Int64 = 0

    /// Adds a delay. A negative delay means that a board's clock is ahead, and counts as 0.
    package mutating func add(milliseconds: Int64) { add(milliseconds) }

    /// Adds a value. All values of one histogram have the same unit.
    package mutating func add(_ number: Int64) {
        let value = min(max(number, 0), Self.longest)
        buckets[Self.bucket(of: value)] += 1
        count += 1
        longest = max(longest, value)
    }

    package mutating func merge(_ other: LagHistogram) {
        for (index, number) in other.buckets.enumerated() { buckets[index] += number }
        count += other.count
        longest = max(longest, other.longest)
    }

    /// The delay in milliseconds that `percent` of 100 values do not exceed. Nil without values.
    package func percentile(_ percent: Int64) -> Int64? {
        guard count > 0 else { return nil }
        let rank = (count * percent + 99) / 100
        var seen: Int64 = 0
        for (index, number) in buckets.enumerated() {
            seen += number
            if seen >= rank { return min(Self.upperBound(of: index), longest) }
        }
        return longest
    }

    private static func bucket(of value: Int64) -> Int {
        guard value >= 16 else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        return 16 + (exponent - 4) * 8 + Int(value >> Int64(exponent - 3)) & 7
    }

    private static func upperBound(of bucket: Int) -> Int64 {
        guard bucket >= 16 else { return Int64(bucket) }
        let exponent = Int64((bucket - 16) / 8 + 4)
        let part = Int64((bucket - 16) % 8)
        return ((8 + part + 1) << (exponent - 3)) - 1
    }
}
