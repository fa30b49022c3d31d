package import Sessions

/// The time of a board whose system clock may be wrong.
///
/// The clock is unset below the program's build date, and below the floor. The floor is the
/// highest time that the authority has sent. An unset clock judges nothing. A reply's `now` sets
/// the clock forward or back. From then on it follows the monotonic clock and ignores the system
/// clock.
///
/// Source: the wire contract, Time and the clock.
package struct BoardClock: Sendable {
    /// The contract's times are whole seconds, so a clock set from one may be up to a second
    /// behind the next message. This difference does not make it unset.
    private static let resolution = Duration.seconds(2)

    private let buildDate: Timestamp
    package private(set) var floor: Timestamp
    private var anchor: Instant?
    /// True after a message has shown that this clock is wrong: the message cannot be as old as
    /// the clock says.
    private var isDoubted = false
    /// Whether this process has set the clock from a reply of the authority.
    package var isSet: Bool { anchor != nil }

    package init(buildDate: Timestamp, floor: Timestamp) {
        self.buildDate = buildDate
        self.floor = floor
    }

    package func now(at instant: Instant) -> Timestamp {
        guard let anchor else { return instant.wall }
        return anchor.wall + (instant.monotonic - anchor.monotonic)
    }

    package func isUnset(at instant: Instant) -> Bool {
        if isDoubted { return true }
        let now = now(at: instant)
        return now < buildDate || now + Self.resolution < floor
    }

    /// Sets the time from a reply to the board's own request. May lower the floor.
    package mutating func set(to time: Timestamp, at instant: Instant) {
        isDoubted = false
        anchor = Instant(wall: time, monotonic: instant.monotonic)
        floor = time
    }

    /// Treats the clock as unset until the authority sends the time.
    package mutating func doubt() {
        if anchor == nil { isDoubted = true }
    }

    /// Takes a time from a message that the board did not request. It can only raise the floor.
    package mutating func raiseFloor(to time: Timestamp) {
        floor = max(floor, time)
    }
}
