package import Sessions
package import Wire

/// What the upstream broker acknowledged to a board, beside what arrived here.
package struct Arrival: Equatable, Sendable {
    /// The highest number that the upstream broker has acknowledged to the board.
    package let sent: Int64
    /// The highest number that came here; nil where none has come since we listen.
    package let arrived: Int64?
    /// How many of the newest acknowledged numbers have not come here.
    package let missing: Int64
    package let toldAt: Timestamp
}

extension BoardReport {
    /// The report as it is stored, without what is different in each heartbeat: a board that
    /// sends all the time is no news.
    package var lasting: BoardReport {
        var report = self
        report.lastForwarded = nil
        report.queue.oldestAge = nil
        return report
    }
}

/// Compares what one board sent with what came. Numbers that the board had sent before it first
/// told of any may have come before we listened, so they count as arrived.
struct ArrivalCount: Sendable {
    /// A heartbeat may come before the data that was sent before it.
    static let grace = Duration.seconds(5)

    private var sent: Int64?
    private var toldAt = Timestamp(milliseconds: 0)
    /// What need not be waited for: the number told first.
    private var first: Int64 = 0
    /// The highest number that was told longer ago than the grace.
    private var due: Int64 = 0
    private var arrived: Int64?
    /// False where the broker carries no numbers (MQTT 3.1.1): then nothing can be compared.
    private var isNumbered = true

    mutating func came(_ number: Int64?) {
        guard let number else { return isNumbered = false }
        arrived = max(number, arrived ?? number)
    }

    mutating func told(_ number: Int64, at now: Timestamp) {
        if let sent, number >= sent {
            due = expected(at: now)
        } else {
            (first, due) = (number, number)
        }
        // Time goes on from when a number was told first.
        if number != sent { toldAt = now }
        sent = number
    }

    private func expected(at now: Timestamp) -> Int64 {
        guard let sent else { return due }
        return now - toldAt >= Self.grace ? sent : due
    }

    func view(at now: Timestamp) -> Arrival? {
        guard isNumbered, let sent else { return nil }
        let missing = expected(at: now) - max(arrived ?? first, first)
        return Arrival(
            sent: sent, arrived: arrived, missing: max(0, missing), toldAt: toldAt)
    }
}
