import Sessions
import Synchronization

/// Which telemetry was made, which the brokers acknowledged, and which came through.
struct BoardBook: Sendable {
    /// Numbers that came, as one run from 1 and those above it.
    private(set) var run: Int64 = 0
    private var above: Set<Int64> = []
    /// Acknowledged and not come yet, with the time of the acknowledgement.
    private(set) var awaited: [Int64: Duration] = [:]
    private(set) var made: Int64 = 0
    private(set) var acknowledged: Int64 = 0
    private(set) var duplicates: Int64 = 0

    var seen: Int64 { run + Int64(above.count) }

    mutating func make(_ number: Int64) { made = max(made, number) }

    mutating func acknowledge(_ number: Int64, at now: Duration) {
        acknowledged += 1
        if !has(number) { awaited[number] = now }
    }

    mutating func see(_ number: Int64) {
        guard number > 0, !has(number) else {
            duplicates += 1
            return
        }
        awaited[number] = nil
        above.insert(number)
        while above.remove(run + 1) != nil { run += 1 }
    }

    private func has(_ number: Int64) -> Bool { number <= run || above.contains(number) }
}

/// What is known of a whole fleet's telemetry.
struct TelemetryCount: Equatable, Sendable {
    var made: Int64 = 0
    var acknowledged: Int64 = 0
    var seen: Int64 = 0
    var duplicates: Int64 = 0
    /// Acknowledged, and never come.
    var missing: Int64 = 0
    /// As `missing`, but acknowledged while the reader was away: nobody can say.
    var unjudged: Int64 = 0
    /// Under another session than the board's, or not as the contract has it.
    var malformed: Int64 = 0
    /// Of boards that are not of this fleet.
    var foreign: Int64 = 0
    /// Whether anybody read.
    var isChecked = false
}

/// The fleet's book of telemetry: the boards write into it, and one reader.
package final class TelemetryBook: Sendable {
    private struct State {
        var boards: [InstallationID: (book: BoardBook, session: ObjectID)] = [:]
        var malformed: Int64 = 0
        var foreign: Int64 = 0
        var isChecked = false
        /// When the reader was away; the last may be open.
        var absences: [(from: Duration, to: Duration?)] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// How long before the reader's connection was seen to break a message may have been lost,
    /// and how long after its return.
    private static let margin = Duration.seconds(5)

    func enter(_ board: InstallationID, _ session: ObjectID) {
        state.withLock { $0.boards[board] = (BoardBook(), session) }
    }

    func make(_ number: Int64, by board: InstallationID) {
        state.withLock { $0.boards[board]?.book.make(number) }
    }

    func acknowledge(_ number: Int64, of board: InstallationID, at now: Duration) {
        state.withLock { $0.boards[board]?.book.acknowledge(number, at: now) }
    }

    /// One came; nil for a number that is none.
    func see(_ number: Int64?, of board: InstallationID, session: String?) {
        state.withLock { state in
            guard let known = state.boards[board]?.session else { return state.foreign += 1 }
            guard let number, session == known.description else { return state.malformed += 1 }
            state.boards[board]?.book.see(number)
        }
    }

    func readerCame(at now: Duration) {
        state.withLock { state in
            state.isChecked = true
            if let last = state.absences.indices.last, state.absences[last].to == nil {
                state.absences[last].to = now
            }
        }
    }

    func readerWent(at now: Duration) {
        state.withLock { $0.absences.append((now, nil)) }
    }

    var count: TelemetryCount {
        state.withLock { state in
            var count = TelemetryCount()
            count.isChecked = state.isChecked
            (count.malformed, count.foreign) = (state.malformed, state.foreign)
            for (book, _) in state.boards.values {
                count.made += book.made
                count.acknowledged += book.acknowledged
                count.seen += book.seen
                count.duplicates += book.duplicates
                guard state.isChecked else { continue }
                for time in book.awaited.values {
                    if Self.isAway(state.absences, time) {
                        count.unjudged += 1
                    } else {
                        count.missing += 1
                    }
                }
            }
            return count
        }
    }

    private static func isAway(
        _ absences: [(from: Duration, to: Duration?)], _ time: Duration
    ) -> Bool {
        absences.contains { from, to in
            time >= from - margin && time <= (to ?? .seconds(1 << 40)) + margin
        }
    }
}
