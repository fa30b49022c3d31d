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
    package static let rangeLimit = 32

    /// How many sequence numbers, ever.
    package var total: Int64 = 0
    /// Which they are, rising; the newest `rangeLimit` ranges.
    package var ranges: [ClosedRange<Int64>] = []
    /// How many for each cause, ever.
    package var causes: [Cause: Int64] = [:]
    /// How many were dropped of each class, for room or for age, ever.
    package var drops: [String: Int64] = [:]

    package init() {}

    /// How many were dropped, of all classes.
    package var dropped: Int64 { causes[.full, default: 0] + causes[.expired, default: 0] }
}
