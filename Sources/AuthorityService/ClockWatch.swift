import Sessions

/// Compares the wall clock with one that never goes back, so that a step is noticed before
/// anything is ended for good on the word of a clock that may be wrong.
struct ClockWatch: Sendable {
    /// How far the two may drift apart between two looks.
    static let tolerance = Duration.seconds(300)

    private var wall: Timestamp
    private var monotonic: Duration

    /// Begins with what the clocks say now.
    init(wall: Timestamp, monotonic: Duration) {
        self.wall = wall
        self.monotonic = monotonic
    }

    /// By how much the wall clock was set since the last look; nil within the tolerance. The
    /// next look compares with this one: a step is told once.
    mutating func step(wall: Timestamp, monotonic: Duration) -> Duration? {
        let step = (wall - self.wall) - (monotonic - self.monotonic)
        self.wall = wall
        self.monotonic = monotonic
        return step > Self.tolerance || step < .zero - Self.tolerance ? step : nil
    }
}
