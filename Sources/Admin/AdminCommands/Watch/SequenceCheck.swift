import MetricsServer
import Sessions

/// A result of `watch --check` about one board.
struct SequenceFinding: Equatable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// Numbers that did not arrive and were not announced as lost.
        case missing
        /// A number that came again with another payload or under another session.
        case conflict
        /// A number that came for the first time, but after a higher one.
        case reordered
        /// `seq` or `ts` is not a number, or one of `sid`, `seq` and `ts` is missing.
        case malformed
        /// A number that came again with the same payload. QoS 1 allows this.
        case repeated = "repeat"
        /// No user properties, so nothing can be checked.
        case unmarked

        /// Whether a correct board never causes this finding.
        var isFault: Bool { self != .repeated && self != .unmarked }
    }

    let kind: Kind
    let board: InstallationID
    let numbers: ClosedRange<Int64>?
    let session: String?
    /// The number of messages of this kind, or of missing numbers, on this board so far.
    let count: Int64
}

/// Checks that all messages that boards accepted arrive once and in order, and measures their
/// delay.
///
/// The memory is limited: so many boards, gaps and payloads. The check of a board begins at the
/// first number that it sees, and ignores lower ones. A number is missing if a later one has come
/// and five seconds have passed, unless the board announces it as lost.
struct SequenceCheck: Sendable {
    static let boardLimit = 1024
    static let patience = Duration.seconds(5)

    private(set) var boards: [InstallationID: BoardSequenceCheck] = [:]
    /// Messages from boards above the limit.
    private(set) var uncheckedMessages: Int64 = 0

    mutating func take(_ arrival: ArrivedMessage, at now: Duration) -> [SequenceFinding] {
        guard admit(arrival.board) else {
            uncheckedMessages += 1
            return []
        }
        return boards[arrival.board]?.take(arrival, at: now) ?? []
    }

    /// Takes the lost numbers from a board's status.
    mutating func announce(_ ranges: [ClosedRange<Int64>], by board: InstallationID) {
        guard admit(board) else { return }
        for range in ranges { boards[board]?.announced.insert(range) }
    }

    /// Reports the numbers that have been missing for long enough.
    mutating func wait(until now: Duration) -> [SequenceFinding] {
        findMissing(since: now - Self.patience)
    }

    /// Ends the check: no more messages come.
    mutating func end() -> [SequenceFinding] { findMissing(since: nil) }

    var summaries: [BoardSummary] {
        boards.filter { $0.value.hasMessages }.sorted { $0.key.description < $1.key.description }
            .map { BoardSummary(of: $0.value, $0.key) }
    }

    private mutating func findMissing(since limit: Duration?) -> [SequenceFinding] {
        boards.keys.sorted { $0.description < $1.description }.flatMap { board in
            boards[board]?.findMissing(since: limit) ?? []
        }
    }

    private mutating func admit(_ board: InstallationID) -> Bool {
        if boards[board] != nil { return true }
        guard boards.count < Self.boardLimit else { return false }
        boards[board] = BoardSequenceCheck(board)
        return true
    }
}

/// The check of one board.
struct BoardSequenceCheck: Sendable {
    private static let announcedLimit = 1024
    /// This many findings of each kind are reported, then only counts that are a power of two.
    private static let toldLimit: Int64 = 20

    private let board: InstallationID
    private(set) var ledger = SequenceLedger()
    var announced = NumberRanges(limit: Self.announcedLimit)
    private(set) var lag = LagHistogram()
    /// The shortest and the last lag in milliseconds. A negative one shows that the board's clock
    /// is ahead of this machine's.
    private(set) var shortestLag: Int64?
    private(set) var lastLag: Int64?
    private(set) var counts: [SequenceFinding.Kind: Int64] = [:]
    private(set) var messages: Int64 = 0
    /// Messages with numbers below the first one seen.
    private(set) var before: Int64 = 0
    private(set) var began: Duration?
    private(set) var latest = Duration.zero
    /// Missing numbers that are no longer tracked.
    private var givenUp: Int64 = 0
    private var missingTold: Int64 = 0

    init(_ board: InstallationID) { self.board = board }

    var hasMessages: Bool { messages > 0 }

    /// How many numbers are missing so far and were not announced as lost.
    var missing: Int64 { givenUp + size(of: ledger.gaps.flatMap { unannounced($0.numbers) }) }

    mutating func take(_ arrival: ArrivedMessage, at now: Duration) -> [SequenceFinding] {
        messages += 1
        began = began ?? now
        latest = now
        switch arrival.mark {
        case .none: return tell(.unmarked, nil, arrival.session)
        case .malformed: return tell(.malformed, nil, arrival.session)
        case .whole(let sequence, let accepted):
            let span = arrival.arrived.milliseconds - accepted.milliseconds
            lag.add(milliseconds: span)
            shortestLag = min(shortestLag ?? span, span)
            lastLag = span
            let verdict = ledger.take(sequence, arrival.digest, at: now)
            for gap in ledger.takeExpelled() { givenUp += size(of: unannounced(gap.numbers)) }
            switch verdict {
            case .new: return []
            case .before:
                before += 1
                return []
            case .reordered: return tell(.reordered, sequence...sequence, arrival.session)
            case .repeated: return tell(.repeated, sequence...sequence, arrival.session)
            case .conflicting: return tell(.conflict, sequence...sequence, arrival.session)
            }
        }
    }

    mutating func findMissing(since limit: Duration?) -> [SequenceFinding] {
        ledger.takeUntold(since: limit).flatMap(unannounced).compactMap { range in
            missingTold += 1
            guard Self.isTold(missingTold) else { return nil }
            return SequenceFinding(
                kind: .missing, board: board, numbers: range, session: nil, count: missing)
        }
    }

    private func unannounced(_ range: ClosedRange<Int64>) -> [ClosedRange<Int64>] {
        announced.missing(of: range)
    }

    /// The numbers are above 0 and the ranges do not overlap, so the sum cannot overflow.
    private func size(of ranges: [ClosedRange<Int64>]) -> Int64 {
        ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) }
    }

    private mutating func tell(
        _ kind: SequenceFinding.Kind, _ numbers: ClosedRange<Int64>?, _ session: String?
    ) -> [SequenceFinding] {
        let count = counts[kind, default: 0] + 1
        counts[kind] = count
        guard Self.isTold(count) else { return [] }
        return [
            SequenceFinding(
                kind: kind, board: board, numbers: numbers, session: session, count: count),
        ]
    }

    private static func isTold(_ count: Int64) -> Bool {
        count <= toldLimit || count & (count - 1) == 0
    }
}
