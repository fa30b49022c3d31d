/// A wall-clock time in milliseconds since the Unix epoch, between 1970 and the year 9999.
///
/// Arithmetic saturates at both ends, so no time from a peer can overflow.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    private static let latest: Int64 = 253_402_300_799_000

    /// Saturates outside 1970...9999.
    package init(milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, 0), Self.latest)
    }

    /// A time in seconds, as the contract writes it; nil outside 1970...9999.
    package init?(seconds: Int64) {
        guard (0...Self.latest / 1000).contains(seconds) else { return nil }
        milliseconds = seconds * 1000
    }

    /// Whole seconds since the epoch, rounded down.
    package var seconds: Int64 { milliseconds / 1000 }

    package static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }

    package static func + (time: Self, span: Duration) -> Self {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(span.milliseconds)
        return Timestamp(milliseconds: overflow ? latest : sum)
    }

    package static func - (time: Self, span: Duration) -> Self {
        Timestamp(milliseconds: time.milliseconds - max(span.milliseconds, -latest))
    }

    /// The span from `right` to `left`; negative if `left` is earlier.
    package static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero and saturating at about 9,000 years.
    package var milliseconds: Int64 {
        let parts = components
        let limit: Int64 = 300_000_000_000
        let seconds = min(max(parts.seconds, -limit), limit)
        return seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
    }
}

/// One reading of both clocks: the wall clock, which may jump, and the monotonic clock.
package struct Instant: Hashable, Sendable {
    /// The system's wall clock, which may be wrong.
    package let wall: Timestamp
    /// The time since the machine started, suspension included; never goes back.
    package let monotonic: Duration

    package init(wall: Timestamp, monotonic: Duration) {
        self.wall = wall
        self.monotonic = monotonic
    }
}
