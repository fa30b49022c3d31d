import Sessions
import Synchronization

/// One board's telemetry: messages that were made, acknowledged by the broker, and received.
struct BoardTelemetry: Sendable {
    /// The received numbers: an unbroken run from 1, and single numbers above it.
    private(set) var run: Int64 = 0
    private var above: Set<Int64> = []
    /// Acknowledged numbers that were not received yet, with the time of the acknowledgement.
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

/// The counts of a whole fleet's telemetry.
struct TelemetryCount: Equatable, Sendable {
    var made: Int64 = 0
    var acknowledged: Int64 = 0
    var seen: Int64 = 0
    var duplicates: Int64 = 0
    /// Acknowledged but never received.
    var missing: Int64 = 0
    /// Like `missing`, but acknowledged while the reader was away, so the cause is unknown.
    var unjudged: Int64 = 0
    /// Messages with another session than the board's, or that break the contract.
    var malformed: Int64 = 0
    /// Messages from boards outside this fleet.
    var foreign: Int64 = 0
    /// Whether a reader was connected.
    var isChecked = false
}

/// The fleet's record of telemetry. The boards and one reader write to it.
package final class TelemetryRecord: Sendable {
    private struct State {
        var boards: [InstallationID: (book: BoardTelemetry, session: ObjectID)] = [:]
        var malformed: Int64 = 0
        var foreign: Int64 = 0
        var isChecked = false
        /// The times when the reader was away. The last one may still be open.
        var absences: [(from: Duration, to: Duration?)] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// A message may be lost up to this long before the reader noticed a broken connection, and up
    /// to this long after its return.
    private static let margin = Duration.seconds(5)

    func enter(_ board: InstallationID, _ session: ObjectID) {
        state.withLock { $0.boards[board] = (BoardTelemetry(), session) }
    }

    func make(_ number: Int64, by board: InstallationID) {
        state.withLock { $0.boards[board]?.book.make(number) }
    }

    func acknowledge(_ number: Int64, of board: InstallationID, at now: Duration) {
        state.withLock { $0.boards[board]?.book.acknowledge(number, at: now) }
    }

    /// Records a received message. `number` is nil if the message has no valid number.
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
