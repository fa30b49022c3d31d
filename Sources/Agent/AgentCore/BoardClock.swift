package import Sessions

/// What time it is, on a board whose own clock may be wrong.
///
/// Below the program's build date or below the floor, the highest time that the authority
/// has told, the clock is unset: nothing is judged by it. A reply's `now` sets it both ways;
/// from then on it follows the monotonic clock, whatever the system's clock does.
///
/// Source: the wire contract, Time and the clock.
package struct BoardClock: Sendable {
    /// The contract's times are whole seconds: a clock set by one is up to a second behind a
    /// message of the next instant, and is not unset for that.
    private static let resolution = Duration.seconds(2)

    private let buildDate: Timestamp
    package private(set) var floor: Timestamp
    private var anchor: Instant?
    /// A message that cannot be as old as this clock makes it has shown that it is wrong.
    private var isDoubted = false
    /// Whether the authority has told the time to this process.
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

    /// Takes the time from a reply to a request of one's own; it may lower the floor.
    package mutating func set(to time: Timestamp, at instant: Instant) {
        isDoubted = false
        anchor = Instant(wall: time, monotonic: instant.monotonic)
        floor = time
    }

    /// Judges nothing by this clock until the authority has told the time.
    package mutating func doubt() {
        if anchor == nil { isDoubted = true }
    }

    /// Takes a time that the authority has told unasked: it can only raise the floor.
    package mutating func raiseFloor(to time: Timestamp) {
        floor = max(floor, time)
    }
}
