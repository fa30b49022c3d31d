import MetricsServer
import Sessions
import Wire

/// The final result of `watch --check` for one board.
struct BoardSummary: Equatable, Sendable {
    let board: InstallationID
    let messages: Int64
    /// The first and the highest number; nil if no message had one.
    let numbers: ClosedRange<Int64>?
    let missing: Int64
    let counts: [SequenceFinding.Kind: Int64]
    /// Messages with numbers below the first one seen. They are not checked.
    let before: Int64
    /// Some gaps were dropped to stay within the limit.
    let isCapped: Bool
    let perSecond: Double
    let lag: LagHistogram
    let shortestLag: Int64?
    let lastLag: Int64?

    init(of check: BoardSequenceCheck, _ board: InstallationID) {
        self.board = board
        messages = check.messages
        numbers = check.ledger.first.map { $0...max($0, check.ledger.highest) }
        missing = check.missing
        var counts = check.counts
        if missing > 0 { counts[.missing] = missing }
        self.counts = counts
        before = check.before
        isCapped = check.ledger.isCapped
        let span = (check.latest - (check.began ?? check.latest)) / .seconds(1)
        perSecond = span > 0 ? Double(check.messages - 1) / span : 0
        lag = check.lag
        shortestLag = check.shortestLag
        lastLag = check.lastLag
    }

    /// True if nothing is missing, in conflict, out of order or malformed.
    var isComplete: Bool { !counts.keys.contains(where: \.isFault) }
    /// True if some messages could not be checked.
    var isUnchecked: Bool { counts[.unmarked] != nil || isCapped }

    var json: JSONValue {
        var members: [String: JSONValue] = [
            "type": .string("summary"), "installationId": .string(board.description),
            "messages": .integer(messages), "before": .integer(before),
            "first": numbers.map { .integer($0.lowerBound) } ?? .null,
            "last": numbers.map { .integer($0.upperBound) } ?? .null,
            "perSecond": .number((perSecond * 10).rounded() / 10),
            "lagMilliseconds": .object([
                "min": shortestLag.map(JSONValue.integer) ?? .null,
                "p50": lag.percentile(50).map(JSONValue.integer) ?? .null,
                "p99": lag.percentile(99).map(JSONValue.integer) ?? .null,
                "max": lag.count > 0 ? .integer(lag.longest) : .null,
                "last": lastLag.map(JSONValue.integer) ?? .null,
            ]),
            "capped": .bool(isCapped), "complete": .bool(isComplete && !isUnchecked),
        ]
        for kind in SequenceFinding.Kind.allCases {
            members[kind.rawValue] = .integer(counts[kind, default: 0])
        }
        return .object(members)
    }

    var text: String {
        let found = SequenceFinding.Kind.allCases.compactMap { kind in
            counts[kind].map { "\($0) \(kind.rawValue)" }
        }
        let state = isComplete && !isUnchecked ? "complete" : "NOT COMPLETE"
        var parts = [
            (found.isEmpty ? [state] : [state] + found).joined(separator: ", "),
            "\(messages) messages"
                + (numbers.map { ", seq \($0.lowerBound) to \($0.upperBound)" } ?? ""),
            "\((perSecond * 10).rounded() / 10)/s",
        ]
        if let half = lag.percentile(50), let most = lag.percentile(99), let shortestLag,
            let lastLag
        {
            parts.append("lag min \(shortestLag) ms, p50 \(half) ms, p99 \(most) ms, "
                + "max \(lag.longest) ms, last \(lastLag) ms")
        }
        if before > 0 { parts.append("\(before) from before the watch") }
        if isCapped { parts.append("too many gaps to follow: the oldest are no longer checked") }
        return "\(board.description.prefix(8))  " + parts.joined(separator: "; ")
    }
}

extension SequenceFinding {
    func json(at time: Timestamp) -> JSONValue {
        .object([
            "type": .string("finding"), "time": .time(time),
            "installationId": .string(board.description),
            "kind": .string(kind.rawValue), "count": .integer(count),
            "first": numbers.map { .integer($0.lowerBound) } ?? .null,
            "last": numbers.map { .integer($0.upperBound) } ?? .null,
            "sid": session.map(JSONValue.string) ?? .null,
        ])
    }

    func text(_ times: TimeText) -> String {
        let what = numbers.map { range in
            range.count == 1
                ? "seq=\(range.lowerBound)" : "seq=\(range.lowerBound)…\(range.upperBound)"
        } ?? "seq=-"
        return [
            times.clock(times.now), String(board.description.prefix(8)), kind.rawValue, what,
            "sid=\(Printable.line(session ?? "-"))", "\(count) so far",
        ].joined(separator: "  ")
    }
}
