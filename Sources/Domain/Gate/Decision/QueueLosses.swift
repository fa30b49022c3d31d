/// Accepted writes that will never arrive: announced, so that a consumer can prove that it has
/// all the others.
package struct QueueLosses: Equatable, Sendable {
    /// Why such a write is not to come.
    package enum Cause: String, CaseIterable, Sendable {
        /// Dropped to make room, as `when_full = "drop-oldest"` has it.
        case full
        /// Older than `max_age`.
        case expired
        /// No broker takes it: it stands among the dead letters.
        case dead
        /// Its row could not be opened any more.
        case damaged
        /// Another user's claim destroyed it.
        case destroyed
        /// A number that may never have been given: a crash took the record of it.
        case unknown
    }

    /// How many ranges are kept.
    package static let rangeLimit = 1024
    /// How many classes are counted by name; drops of a further one count as "*".
    package static let classLimit = 256

    /// How many sequence numbers, ever.
    package var total: Int64 = 0
    /// Which they are, rising, no two adjoining; those with the highest numbers, at most
    /// `rangeLimit`.
    package var ranges: [ClosedRange<Int64>] = []
    /// How many for each cause, ever.
    package var causes: [Cause: Int64] = [:]
    /// How many were dropped of each class, for room or for age, ever.
    package var drops: [String: Int64] = [:]

    package init() {}

    /// How many were dropped, of all classes.
    package var dropped: Int64 { causes[.full, default: 0] + causes[.expired, default: 0] }

    /// Adds numbers. Those that already stand in `ranges` are not counted twice.
    package mutating func lose(_ lost: ClosedRange<Int64>, _ cause: Cause) {
        var (first, last) = (lost.lowerBound, lost.upperBound)
        var fresh = last.saturatingDistance(from: first)
        var kept: [ClosedRange<Int64>] = []
        for range in ranges {
            if range.upperBound < first &- 1 && first > .min
                || range.lowerBound > last && range.lowerBound &- 1 > last
            {
                kept.append(range)
                continue
            }
            let overlap = range.clamped(to: lost)
            if range.overlaps(lost) {
                fresh -= overlap.upperBound.saturatingDistance(from: overlap.lowerBound)
            }
            (first, last) = (min(first, range.lowerBound), max(last, range.upperBound))
        }
        let place = kept.firstIndex { $0.lowerBound > last } ?? kept.count
        kept.insert(first...last, at: place)
        ranges = kept.suffix(Self.rangeLimit)
        total = total.saturatingSum(fresh)
        causes[cause] = causes[cause, default: 0].saturatingSum(fresh)
    }

    /// Counts drops of one class.
    package mutating func drop(_ count: Int64, of className: String) {
        let isKnown = drops[className] != nil || drops.count < Self.classLimit - 1
        drops[isKnown ? className : "*", default: 0] += count
    }
}

extension Int64 {
    fileprivate func saturatingSum(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    /// How many numbers there are from `first` to this one.
    fileprivate func saturatingDistance(from first: Int64) -> Int64 {
        let (span, overflow) = subtractingReportingOverflow(first)
        return overflow ? .max : span.saturatingSum(1)
    }
}
