/// The time over which a fleet spreads an action that all boards want at the same moment. Each
/// board waits for a random, uniformly drawn part of this time.
///
/// The aim: at most a twentieth of the fleet acts in one second. On average 20 s would do, but a
/// random draw is uneven, most of all with few boards. Example: of 200 boards at most 10 may act in
/// a second. Over 120 s the average is 1.7. A second with more than 10 occurs about once in a
/// thousand storms, and more rarely in larger fleets.
package enum FleetSpread {
    /// Suits a fleet of any size. The default for a board that received no other value.
    package static let widest = Duration.seconds(120)
    /// The longest time that may be configured or received.
    package static let longest = Duration.seconds(3600)
    /// Up to this size a twentieth of the fleet is one board. A broker does not notice so few
    /// boards together, so they do not wait.
    package static let smallFleet = 20

    /// The time for a fleet of `boards` boards: one second for each board, at most `widest`.
    package static func window(boards: Int) -> Duration {
        boards <= smallFleet ? .zero : min(.seconds(boards), widest)
    }
}
