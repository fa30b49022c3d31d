/// Over how long a fleet spreads what all of its boards want at one moment: each waits for a
/// moment of its own, drawn at random and uniformly from this span.
///
/// The bound is that in any one second at most a twentieth of the fleet comes. Twenty seconds
/// would do on average; a draw is uneven, and the fewer the boards, the more so. Of 200 boards
/// at most 10 may come in a second: over 120 s it is 1.7 on average, and more than 10 in some
/// second of the two minutes about once in a thousand storms; of larger fleets more rarely.
package enum FleetSpread {
    /// What suits a fleet of any size, and a board that was told nothing.
    package static let widest = Duration.seconds(120)
    /// The longest that may be configured or told.
    package static let longest = Duration.seconds(3600)
    /// A twentieth of so many is one board: no broker notices them together, and a house does
    /// not wait.
    package static let smallFleet = 20

    /// The span for a fleet of so many boards: one a second, the widest at most.
    package static func window(boards: Int) -> Duration {
        boards <= smallFleet ? .zero : min(.seconds(boards), widest)
    }
}
