import Sessions

/// Sequence numbers of a board that will never arrive, as its status and health announce them.
package struct AnnouncedGaps: Equatable, Sendable {
    /// How many ranges are told: the newest.
    package static let rangeLimit = 1024

    /// How many numbers, ever.
    package let total: Int64
    /// Which: rising, apart from each other, the newest `rangeLimit`.
    package let ranges: [ClosedRange<Int64>]

    package static let none = AnnouncedGaps(total: 0, ranges: [])

    package init(total: Int64, ranges: some Sequence<ClosedRange<Int64>>) {
        self.total = total
        self.ranges = Array(ranges.suffix(Self.rangeLimit))
    }

    /// From `gaps` and `gapRanges`; a board of an older version says neither or the first.
    init(json: JSONObject) throws(WireError) {
        total = try json.optional("gaps") { $0.asInteger } ?? 0
        ranges = try json.optional("gapRanges") { value in
            value.asArray.flatMap(Self.ranges)
        } ?? []
    }

    /// Nil unless each is `[first, last]`, above the one before, and there are no more than
    /// `rangeLimit`.
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
