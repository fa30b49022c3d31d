package import Sessions
package import Wire

/// Compares the messages that the upstream broker acknowledged to a board with those that arrived
/// here.
package struct Arrival: Equatable, Sendable {
    /// The highest number that the upstream broker has acknowledged to the board.
    package let sent: Int64
    /// The highest number that arrived here. Nil if none has arrived since listening began.
    package let arrived: Int64?
    /// How many of the newest acknowledged numbers have not arrived here.
    package let missing: Int64
    package let toldAt: Timestamp
}

extension BoardReport {
    /// The report in its stored form, without the values that change in each heartbeat. So a board
    /// that sends all the time causes no updates.
    package var lasting: BoardReport {
        var report = self
        report.lastForwarded = nil
        report.queue.oldestAge = nil
        return report
    }
}

/// Compares the numbers that one board sent with those that arrived. Numbers up to the first
/// reported one count as arrived, because they may have come before listening began.
struct ArrivalCount: Sendable {
    /// The extra time for data: a heartbeat may arrive before data that was sent earlier.
    static let grace = Duration.seconds(5)

    private var sent: Int64?
    private var toldAt = Timestamp(milliseconds: 0)
    /// The first reported number. Numbers up to it need not arrive.
    private var first: Int64 = 0
    /// The highest number that was reported longer ago than the grace time.
    private var due: Int64 = 0
    private var arrived: Int64?
    /// False if the broker carries no numbers (MQTT 3.1.1). Then nothing can be compared.
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
        // The grace time starts when a number is first reported.
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
