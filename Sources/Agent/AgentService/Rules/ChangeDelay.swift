/// When a change is acted on that may go on: after a quiet moment, but not for ever after.
struct ChangeDelay {
    static let quiet = Duration.milliseconds(200)
    static let longest = Duration.seconds(2)
    /// How soon a look is repeated that fell into a change.
    static let again = Duration.milliseconds(20)

    private var first: Duration?
    /// Nil: nothing has changed.
    private(set) var due: Duration?

    mutating func changed(at now: Duration) {
        let start = first ?? now
        first = start
        due = min(now + Self.quiet, max(start + Self.longest, now))
    }

    mutating func lookAgain(at now: Duration) { due = now + Self.again }

    mutating func end() {
        first = nil
        due = nil
    }
}
