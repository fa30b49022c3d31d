import Logging

/// Limits the lines of a log. Equal entries become a few lines and a count. Other entries have a
/// limit for each minute.
///
/// Entries of level warning and above have their own limit, so that many lesser entries cannot
/// displace them. It has no clock; times are the monotonic clock's.
package struct LogThrottle: Sendable {
    /// The limit of lines for each minute, also at once, for each of the two kinds.
    package static let rate = 100
    /// How long equal entries are counted, from the first one. After `sameLimit` lines they are
    /// only counted.
    package static let window = Duration.seconds(60)
    package static let sameLimit = 5
    /// How many different entries are remembered.
    private static let knownLimit = 32

    private struct Known {
        let entry: LogEntry
        let since: Duration
        var written = 1
        var repeats = 0
    }

    private struct Measure {
        var level = Double(LogThrottle.rate)
        var last = Duration.zero
        var leftOut = 0

        /// Whether one more line may be written. If so, also returns how many lines before it were
        /// left out.
        mutating func pass(at now: Duration) -> (passes: Bool, leftOut: Int) {
            guard take(at: now) else {
                leftOut += 1
                return (false, 0)
            }
            defer { leftOut = 0 }
            return (true, leftOut)
        }

        private mutating func take(at now: Duration) -> Bool {
            let gained = max(0, (now - last) / LogThrottle.window) * Double(LogThrottle.rate)
            level = min(Double(LogThrottle.rate), level + gained)
            last = now
            guard level >= 1 else { return false }
            level -= 1
            return true
        }
    }

    private var known: [Known] = []
    private var usual = Measure()
    private var grave = Measure()

    package init() {}

    /// The entries to write now: `entry` itself or nothing, after counts that are due.
    package mutating func admit(_ entry: LogEntry, at now: Duration) -> [LogEntry] {
        var lines = due(at: now)
        let index = known.firstIndex { $0.entry == entry }
        if let index, known[index].written >= Self.sameLimit {
            known[index].repeats += 1
            return lines
        }
        let (passes, leftOut) = entry.isGrave ? grave.pass(at: now) : usual.pass(at: now)
        if leftOut > 0 { lines.append(Self.gap(leftOut, isGrave: entry.isGrave)) }
        guard passes else { return lines }
        lines.append(entry)
        if let index {
            known[index].written += 1
            return lines
        }
        if known.count >= Self.knownLimit {
            let oldest = known.removeFirst()
            if oldest.repeats > 0 { lines.insert(Self.count(oldest), at: 0) }
        }
        known.append(Known(entry: entry, since: now))
        return lines
    }

    /// The counts that are due. Call it regularly, because no timer does.
    package mutating func due(at now: Duration) -> [LogEntry] {
        let over = known.prefix { $0.since + Self.window <= now }
        known.removeFirst(over.count)
        return over.filter { $0.repeats > 0 }.map(Self.count)
    }

    /// At the end: all counts that were not written yet.
    package mutating func close() -> [LogEntry] {
        defer { known = [] }
        let counts = known.filter { $0.repeats > 0 }.map(Self.count)
        let gaps = [(usual.leftOut, false), (grave.leftOut, true)].filter { $0.0 > 0 }
        usual.leftOut = 0
        grave.leftOut = 0
        return counts + gaps.map { Self.gap($0.0, isGrave: $0.1) }
    }

    private static func count(_ known: Known) -> LogEntry {
        LogEntry(
            known.entry.level,
            "\(known.entry.message) (repeated \(known.repeats) times)", known.entry.fields)
    }

    private static func gap(_ count: Int, isGrave: Bool) -> LogEntry {
        let kind = isGrave ? "warnings and errors" : "lines below level warning"
        return LogEntry(isGrave ? .warning : .notice, "\(count) \(kind) were left out here")
    }
}
