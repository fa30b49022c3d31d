/// Accepted writes that will never arrive. They are announced, so that a consumer can prove that it
/// has all others.
package struct QueueLosses: Equatable, Sendable {
    /// Why such a write will not arrive.
    package enum Cause: String, CaseIterable, Sendable {
        /// Dropped to make room, because of `when_full = "drop-oldest"`.
        case full
        /// Older than `max_age`.
        case expired
        /// No broker accepts it: it is a dead letter.
        case dead
        /// Its row could not be opened.
        case damaged
        /// A claim by another user destroyed it.
        case destroyed
        /// A number that may never have been used: a crash lost the record of it.
        case unknown
    }

    /// The largest number of ranges kept.
    package static let rangeLimit = 1024
    /// The largest number of classes counted by name. Drops of further classes count as "*".
    package static let classLimit = 256

    /// The number of lost sequence numbers, ever.
    package var total: Int64 = 0
    /// The lost numbers as rising ranges, no two of them adjoining. At most `rangeLimit` ranges are
    /// kept: those with the highest numbers.
    package var ranges: [ClosedRange<Int64>] = []
    /// The losses for each cause, ever.
    package var causes: [Cause: Int64] = [:]
    /// The drops of each class, for lack of room or for age, ever.
    package var drops: [String: Int64] = [:]

    package init() {}

    /// The drops of all classes.
    package var dropped: Int64 { causes[.full, default: 0] + causes[.expired, default: 0] }

    /// Adds lost numbers. Numbers that are already in `ranges` do not count twice.
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

    /// The count of numbers from `first` to this one.
    fileprivate func saturatingDistance(from first: Int64) -> Int64 {
        let (span, overflow) = subtractingReportingOverflow(first)
        return overflow ? .max : span.saturatingSum(1)
    }
}
