package import Sessions

/// The time of a board whose system clock may be wrong.
///
/// The clock is unset below the program's build date, and below the floor. The floor is the
/// highest time that the authority has sent. An unset clock judges nothing. A reply's `now` sets
/// the clock forward or back. From then on it follows the monotonic clock and ignores the system
/// clock. Of several replies the one with the shortest round trip counts, until drift may have
/// made it worse than a new one.
///
/// Source: the wire contract, Time and the clock.
package struct BoardClock: Sendable {
    /// The contract's times are whole seconds, so a clock set from one may be up to a second
    /// behind the next message. This difference does not make it unset.
    private static let resolution = Duration.seconds(2)

    /// How far a clock without correction goes wrong in a second: 100 µs.
    private static let driftDivisor = 10_000
    /// A system clock this close to the reply's time is as right as the reply can say.
    private static let agreement = Duration.milliseconds(5)

    private let buildDate: Timestamp
    package private(set) var floor: Timestamp
    private var anchor: Instant?
    /// How far off the anchor may be. Nil: it does not come from an exact sample.
    private var anchorError: Duration?
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
    package mutating func set(to sample: ClockSample, at instant: Instant) {
        isDoubted = false
        floor = sample.time
        guard !isBetter(than: sample, at: instant) else { return }
        var time = sample.time
        anchorError = nil
        if sample.isExact {
            time = time + sample.age / 2
            anchorError = sample.age / 2
            let difference = time - instant.wall
            if max(difference, .zero - difference) < Self.agreement { time = instant.wall }
        }
        anchor = Instant(wall: time, monotonic: instant.monotonic)
    }

    /// Whether this clock agrees with a sample and is surely closer to the authority's clock.
    private func isBetter(than sample: ClockSample, at instant: Instant) -> Bool {
        guard let anchor, let anchorError else { return false }
        let error = anchorError + (instant.monotonic - anchor.monotonic) / Self.driftDivisor
        guard error < (sample.isExact ? sample.age / 2 : sample.age) else { return false }
        let now = now(at: instant)
        return sample.time - error <= now && now <= sample.time + sample.age + error
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

/// The authority's time, from a reply.
package struct ClockSample: Sendable {
    /// The authority's time when it answered.
    let time: Timestamp
    /// How long ago that was at most: since the board first sent the request.
    let age: Duration
    /// Whether `time` has milliseconds and the request was sent once. Then the authority answered
    /// about half of `age` ago.
    let isExact: Bool

    package init(time: Timestamp, age: Duration, isExact: Bool) {
        self.time = time
        self.age = age
        self.isExact = isExact
    }
}
