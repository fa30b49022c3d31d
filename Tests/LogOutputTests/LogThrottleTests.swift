import Logging
import Testing

import LogOutput

@Suite("Log throttle")
struct LogThrottleTests {
    private func words(_ entries: [LogEntry]) -> [String] { entries.map(\.message) }

    @Test("writes the same words five times a minute, and then how often more they came")
    func folding() {
        var throttle = LogThrottle()
        let entry = LogEntry(.warning, "upstream: TCP: refused")
        for second in 0...4 {
            #expect(throttle.admit(entry, at: .seconds(second)) == [entry])
        }
        for second in 5...59 {
            #expect(throttle.admit(entry, at: .seconds(second)).isEmpty)
        }
        #expect(
            words(throttle.admit(entry, at: .seconds(60)))
                == ["upstream: TCP: refused (repeated 55 times)", "upstream: TCP: refused"])
    }

    @Test("tells a count that nothing follows when it is asked to")
    func due() {
        var throttle = LogThrottle()
        for _ in 0...5 { _ = throttle.admit(LogEntry(.info, "a"), at: .zero) }
        #expect(throttle.due(at: .seconds(59)).isEmpty)
        #expect(words(throttle.due(at: .seconds(60))) == ["a (repeated 1 times)"])
        #expect(throttle.due(at: .seconds(120)).isEmpty)
    }

    @Test("folds words that come in turns")
    func turns() {
        var throttle = LogThrottle()
        var lines: [LogEntry] = []
        for index in 0..<1000 {
            lines += throttle.admit(LogEntry(.info, "\(index % 3)"), at: .milliseconds(index))
        }
        #expect(words(lines) == (0..<15).map { "\($0 % 3)" })
        #expect(words(throttle.close()) == [
            "0 (repeated 329 times)", "1 (repeated 328 times)", "2 (repeated 328 times)",
        ])
    }

    @Test("writes so many a minute, and says how many it left out")
    func flood() {
        var throttle = LogThrottle()
        var lines: [LogEntry] = []
        for index in 0..<500 {
            lines += throttle.admit(LogEntry(.info, "line \(index)"), at: .zero)
        }
        #expect(lines.count == LogThrottle.rate)
        lines = throttle.admit(LogEntry(.info, "later"), at: .seconds(1))
        #expect(words(lines) == ["400 lines below level warning were left out here", "later"])
        // Over ten minutes no more than ten times the measure, and as many lines that say so.
        var count = 0
        for index in 0..<60_000 {
            count += throttle.admit(
                LogEntry(.debug, "more \(index)"), at: .milliseconds(10 * index + 1000)).count
        }
        #expect(count <= 2 * (LogThrottle.rate * 11))
    }

    @Test("lets no flood of news take the place of a warning or an error")
    func grave() {
        var throttle = LogThrottle()
        for index in 0..<1000 {
            _ = throttle.admit(LogEntry(.info, "line \(index)"), at: .zero)
        }
        let entries = [LogEntry(.warning, "w"), LogEntry(.error, "e"), LogEntry(.critical, "c")]
        for entry in entries { #expect(throttle.admit(entry, at: .zero) == [entry]) }
    }

    @Test("bounds what is grave, too")
    func graveFlood() {
        var throttle = LogThrottle()
        var lines: [LogEntry] = []
        for index in 0..<500 {
            lines += throttle.admit(LogEntry(.error, "fault \(index)"), at: .zero)
        }
        #expect(lines.count == LogThrottle.rate)
        #expect(words(throttle.close()) == ["400 warnings and errors were left out here"])
    }

    @Test("tells entries apart by level and by field")
    func difference() {
        var throttle = LogThrottle()
        let entries = [
            LogEntry(.info, "x"), LogEntry(.notice, "x"), LogEntry(.info, "x", ["board": "1"]),
        ]
        for entry in entries { #expect(throttle.admit(entry, at: .zero) == [entry]) }
    }
}
