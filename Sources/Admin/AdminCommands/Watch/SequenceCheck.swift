import MetricsServer
import Sessions

/// What `watch --check` found on one board.
struct Finding: Equatable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// Numbers that did not come, and were not announced as lost.
        case missing
        /// A number with another payload than before, or under another session.
        case conflict
        /// A number for the first time, after a higher one.
        case reordered
        /// `seq` or `ts` is no number, or one of `sid`, `seq` and `ts` is not there.
        case malformed
        /// A number again with the same payload, as QoS 1 may deliver it.
        case repeated = "repeat"
        /// No user properties: nothing can be checked.
        case unmarked

        /// Whether a board that keeps its promise never shows it.
        var isFault: Bool { self != .repeated && self != .unmarked }
    }

    let kind: Kind
    let board: InstallationID
    let numbers: ClosedRange<Int64>?
    let session: String?
    /// How many messages of this kind, or missing numbers, there are on this board by now.
    let count: Int64
}

/// Proves, or not, that everything boards accepted arrives: once, in order, and when.
///
/// Bounded whatever comes: so many boards, gaps and payloads. It begins at the first number of
/// a board that it sees, and judges none below. A number counts as missing once a later one has
/// come and five seconds have passed, unless the board announces it as lost.
struct SequenceCheck: Sendable {
    static let boardLimit = 1024
    static let patience = Duration.seconds(5)

    private(set) var boards: [InstallationID: BoardCheck] = [:]
    /// Messages of boards that there was no room for.
    private(set) var uncheckedMessages: Int64 = 0

    mutating func take(_ arrival: Arrival, at now: Duration) -> [Finding] {
        guard admit(arrival.board) else {
            uncheckedMessages += 1
            return []
        }
        return boards[arrival.board]?.take(arrival, at: now) ?? []
    }

    /// A board's status names what it lost.
    mutating func announce(_ ranges: [ClosedRange<Int64>], by board: InstallationID) {
        guard admit(board) else { return }
        for range in ranges { boards[board]?.announced.insert(range) }
    }

    /// What has waited long enough by now.
    mutating func wait(until now: Duration) -> [Finding] { findMissing(since: now - Self.patience) }

    /// Nothing comes any more.
    mutating func end() -> [Finding] { findMissing(since: nil) }

    var summaries: [BoardSummary] {
        boards.filter { $0.value.hasMessages }.sorted { $0.key.description < $1.key.description }
            .map { BoardSummary(of: $0.value, $0.key) }
    }

    private mutating func findMissing(since limit: Duration?) -> [Finding] {
        boards.keys.sorted { $0.description < $1.description }.flatMap { board in
            boards[board]?.findMissing(since: limit) ?? []
        }
    }

    private mutating func admit(_ board: InstallationID) -> Bool {
        if boards[board] != nil { return true }
        guard boards.count < Self.boardLimit else { return false }
        boards[board] = BoardCheck(board)
        return true
    }
}

/// The check of one board.
struct BoardCheck: Sendable {
    private static let announcedLimit = 1024
    /// So many findings of a kind are told, and then those whose count is a power of two.
    private static let toldLimit: Int64 = 20

    private let board: InstallationID
    private(set) var ledger = SequenceLedger()
    var announced = NumberRanges(limit: Self.announcedLimit)
    private(set) var lag = LagHistogram()
    private(set) var counts: [Finding.Kind: Int64] = [:]
    private(set) var messages: Int64 = 0
    /// Below the first number that was seen.
    private(set) var before: Int64 = 0
    private(set) var began: Duration?
    private(set) var latest = Duration.zero
    /// Missing numbers that are no longer looked for.
    private var givenUp: Int64 = 0
    private var missingTold: Int64 = 0

    init(_ board: InstallationID) { self.board = board }

    var hasMessages: Bool { messages > 0 }

    /// How many numbers are missing by now and not announced.
    var missing: Int64 { givenUp + size(of: ledger.gaps.flatMap { unannounced($0.numbers) }) }

    mutating func take(_ arrival: Arrival, at now: Duration) -> [Finding] {
        messages += 1
        began = began ?? now
        latest = now
        switch arrival.mark {
        case .none: return tell(.unmarked, nil, arrival.session)
        case .malformed: return tell(.malformed, nil, arrival.session)
        case .whole(let sequence, let accepted):
            lag.add(milliseconds: arrival.arrived.milliseconds - accepted.milliseconds)
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

    mutating func findMissing(since limit: Duration?) -> [Finding] {
        ledger.takeUntold(since: limit).flatMap(unannounced).compactMap { range in
            missingTold += 1
            guard Self.isTold(missingTold) else { return nil }
            return Finding(
                kind: .missing, board: board, numbers: range, session: nil, count: missing)
        }
    }

    private func unannounced(_ range: ClosedRange<Int64>) -> [ClosedRange<Int64>] {
        announced.missing(of: range)
    }

    /// Numbers are above 0 and the ranges stand apart, so no sum overflows.
    private func size(of ranges: [ClosedRange<Int64>]) -> Int64 {
        ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) }
    }

    private mutating func tell(
        _ kind: Finding.Kind, _ numbers: ClosedRange<Int64>?, _ session: String?
    ) -> [Finding] {
        let count = counts[kind, default: 0] + 1
        counts[kind] = count
        guard Self.isTold(count) else { return [] }
        return [
            Finding(kind: kind, board: board, numbers: numbers, session: session, count: count),
        ]
    }

    private static func isTold(_ count: Int64) -> Bool {
        count <= toldLimit || count & (count - 1) == 0
    }
}
