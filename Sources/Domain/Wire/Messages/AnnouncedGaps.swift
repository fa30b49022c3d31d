import Sessions

/// A board's sequence numbers that will never arrive, as its status and health announce them.
package struct AnnouncedGaps: Equatable, Sendable {
    /// The largest number of ranges; the newest are kept.
    package static let rangeLimit = 1024

    /// The count of missing numbers, ever.
    package let total: Int64
    /// The missing numbers as rising, separate ranges: the newest `rangeLimit`.
    package let ranges: [ClosedRange<Int64>]

    package static let none = AnnouncedGaps(total: 0, ranges: [])

    package init(total: Int64, ranges: some Sequence<ClosedRange<Int64>>) {
        self.total = total
        self.ranges = Array(ranges.suffix(Self.rangeLimit))
    }

    /// Reads `gaps` and `gapRanges`. Either may be absent.
    init(json: JSONObject) throws(WireError) {
        total = try json.optional("gaps") { $0.asInteger } ?? 0
        ranges = try json.optional("gapRanges") { value in
            value.asArray.flatMap(Self.ranges)
        } ?? []
    }

    /// Nil if there are more than `rangeLimit` ranges, or if one is not `[first, last]` above the
    /// one before.
    private static func ranges(_ values: [JSONValue]) -> [ClosedRange<Int64>]? {
        guard values.count <= rangeLimit else { return nil }
        var ranges: [ClosedRange<Int64>] = []
        for value in values {
            guard let ends = value.asArray, ends.count == 2, let first = ends[0].asInteger,
                let last = ends[1].asInteger, first > ranges.last?.upperBound ?? 0, first <= last
            else { return nil }
            ranges.append(first...last)
        }
        return ranges
    }

    var json: JSONValue {
        .array(ranges.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
    }
}
