/// When to act on a change that may go on: after 200 ms without a change, but at most 2 s after
/// the first one.
struct ChangeDelay {
    static let quiet = Duration.milliseconds(200)
    static let longest = Duration.seconds(2)
    /// How soon to read again after a read during a change.
    static let again = Duration.milliseconds(20)

    private var first: Duration?
    /// When to act; nil if nothing has changed.
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
