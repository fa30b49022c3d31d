import Gate
import Sessions
import Wire

/// One board's part of `LiveData`.
struct LiveBoardData: Sendable {
    static let fieldLimit = 16

    private struct Minute: Sendable {
        var messages: Int32 = 0
        var refused: Int32?
        var queue: Int32?
    }

    private struct FieldKey: Hashable, Sendable {
        let className: ClassName
        let record: RecordID?
        let field: String
    }

    private(set) var lastData: Timestamp?
    /// When the first data came.
    private(set) var began: Timestamp?
    var lastUse: UInt64 = 0
    /// The newest minute in `ring`, as minutes since the epoch. A minute is at its number modulo
    /// 60.
    private var newest: Int64 = 0
    private var ring: [Minute] = []
    private var newestValues: [FieldKey: NewestValue] = [:]
    var fieldCount: Int { newestValues.count }
    private var refusedTotal: Int64?
    private var lastQueue: Int32?
    /// Starts again each time when the authority starts or stops listening.
    var arrival = ArrivalCount()

    mutating func count(_ number: Int64?, at now: Timestamp) {
        advance(to: now)
        arrival.came(number)
        began = began ?? now
        lastData = max(now, lastData ?? now)
        let slot = Self.slot(newest)
        if ring[slot].messages < .max { ring[slot].messages += 1 }
    }

    mutating func note(queue: Int64?, refused: Int64?, at now: Timestamp) {
        advance(to: now)
        let slot = Self.slot(newest)
        if let queue {
            lastQueue = Int32(clamping: max(queue, 0))
            ring[slot].queue = lastQueue
        }
        guard let refused else { return }
        // If the count is lower than before, the board restarted, and all its refusals are new.
        let known = refusedTotal ?? refused
        let more = refused >= known ? refused - known : max(refused, 0)
        refusedTotal = refused
        let sum = Int64(ring[slot].refused ?? 0).addingReportingOverflow(more)
        ring[slot].refused = sum.overflow ? .max : Int32(clamping: sum.partialValue)
    }

    mutating func keep(_ reading: Reading) {
        for (field, number) in reading.values { keep(.number(number), of: field, in: reading) }
        for (field, text) in reading.texts { keep(.text(text), of: field, in: reading) }
    }

    /// What waited on the board replaces nothing newer.
    private mutating func keep(_ value: NewestValue.Value, of field: String, in reading: Reading) {
        let key = FieldKey(className: reading.className, record: reading.record, field: field)
        if let known = newestValues[key] {
            guard reading.writtenAt >= known.writtenAt else { return }
        } else if newestValues.count >= Self.fieldLimit {
            let oldest = newestValues.min { $0.value.writtenAt < $1.value.writtenAt }
            if let oldest { newestValues[oldest.key] = nil }
        }
        newestValues[key] = NewestValue(
            className: key.className, record: key.record, field: field, value: value,
            writtenAt: reading.writtenAt, receivedAt: reading.at)
    }

    /// Moves the ring's newest minute to that of `now`. A clock that went back changes nothing.
    private mutating func advance(to now: Timestamp) {
        let minute = now.seconds / 60
        if ring.isEmpty {
            ring = Array(repeating: Minute(), count: MinuteCounts.count)
            newest = minute
        }
        guard minute > newest else { return }
        let passed = min(minute - newest, Int64(MinuteCounts.count))
        for next in (minute - passed + 1)...minute { ring[Self.slot(next)] = quiet }
        newest = minute
    }

    /// A minute in which nothing came. Known values continue.
    private var quiet: Minute {
        Minute(messages: 0, refused: refusedTotal == nil ? nil : 0, queue: lastQueue)
    }

    private static func slot(_ minute: Int64) -> Int { Int(minute % Int64(MinuteCounts.count)) }
}

extension LiveBoardData {
    func minutes(at now: Timestamp) -> MinuteCounts {
        let last = max(now.seconds / 60, ring.isEmpty ? 0 : newest)
        let first = last - Int64(MinuteCounts.count) + 1
        let all = (first...last).map(minute)
        return MinuteCounts(
            start: Timestamp(milliseconds: first * 60_000), messages: all.map { Int($0.messages) },
            refused: all.map { $0.refused.map(Int.init) },
            queue: all.map { $0.queue.map(Int.init) })
    }

    private func minute(_ number: Int64) -> Minute {
        guard !ring.isEmpty, number > newest - Int64(MinuteCounts.count), number >= 0 else {
            return Minute()
        }
        return number > newest ? quiet : ring[Self.slot(number)]
    }

    func running(_ board: InstallationID, at now: Timestamp) -> RunningMinute {
        let number = max(now.seconds / 60, ring.isEmpty ? 0 : newest)
        let found = minute(number)
        return RunningMinute(
            board: board, start: Timestamp(milliseconds: number * 60_000),
            messages: Int(found.messages), refused: found.refused.map(Int.init),
            queue: found.queue.map(Int.init), arrival: arrival.view(at: now))
    }

    func view(at now: Timestamp) -> BoardLive {
        BoardLive(
            lastData: lastData, minutes: minutes(at: now),
            newest: newestValues.values.sorted { $0.writtenAt > $1.writtenAt },
            arrival: arrival.view(at: now))
    }
}
