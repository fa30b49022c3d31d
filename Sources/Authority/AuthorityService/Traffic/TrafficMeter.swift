import Sessions

/// A token bucket: a burst at once, and then a rate per second.
struct TokenBucket: Sendable {
    private let rate: Double
    private let burst: Double
    private var level: Double
    private var last: Duration

    /// A full bucket. `rate` is per second; `now` is as for `take`.
    init(rate: Int, burst: Int, now: Duration) {
        self.rate = Double(rate)
        self.burst = Double(burst)
        level = Double(burst)
        last = now
    }

    /// Whether one more message may pass. `now` is from a clock that never goes back.
    mutating func take(now: Duration) -> Bool {
        level = min(burst, level + rate * max(0, (now - last) / .seconds(1)))
        last = now
        guard level >= 1 else { return false }
        level -= 1
        return true
    }
}

/// Rate limits for each board, because each message costs a decryption and a transaction.
struct TrafficMeter: Sendable {
    enum Kind: String, Sendable {
        case outbox
        case status
    }

    private struct Board {
        var outbox: TokenBucket
        var status: TokenBucket
        var dropped = 0
    }

    /// At this number of boards all are forgotten, so each has its full burst again.
    private let limit: Int
    private var boards: [InstallationID: Board] = [:]

    init(limit: Int = 65_536) { self.limit = limit }

    /// Whether a board's message may pass; if not, how many of its messages were dropped so far.
    mutating func admit(
        _ kind: Kind, of board: InstallationID, now: Duration
    ) -> Admission {
        if boards.count >= limit, boards[board] == nil { boards = [:] }
        var record = boards[board] ?? Board(
            outbox: TokenBucket(rate: 20, burst: 50, now: now),
            status: TokenBucket(rate: 5, burst: 10, now: now))
        let passes = switch kind {
        case .outbox: record.outbox.take(now: now)
        case .status: record.status.take(now: now)
        }
        if !passes { record.dropped += 1 }
        boards[board] = record
        return passes ? .passes : .dropped(record.dropped)
    }

    enum Admission: Equatable, Sendable {
        case passes
        case dropped(Int)
    }
}
