@testable import AdminCommands
import MetricsServer
import Gate
import Sessions
import Testing
import Wire

private let now = Timestamp(milliseconds: 1_700_000_000_000)
private let boardName = "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"

/// A message of a board: `3`, `3 other` with another payload, `3 @b` under another session.
private func arrival(
    _ text: String, board: String = boardName, ts: String = "1700000000000"
) throws -> ArrivedMessage {
    let parts = text.split(separator: " ").map(String.init)
    let payload = parts.contains("other") ? "other" : "payload"
    return try arrival(payload: payload, board: board) { name in
        switch name {
        case "sid": parts.contains("@b") ? "Session00b" : "Session00a"
        case "seq": parts.first
        default: ts
        }
    }
}

private func arrival(
    payload: String = "", board: String = boardName, property: (String) -> String?
) throws -> ArrivedMessage {
    let message = DataMessage(
        topic: "postern/v1/\(board)/data/Reading/create", payload: Array(payload.utf8),
        under: .standard, property: property)
    return ArrivedMessage(try #require(message), at: now)
}

@Suite("Sequence check")
struct SequenceCheckTests {
    /// What comes, what is announced, and what is found: kind and numbers.
    struct Row: Sendable, CustomStringConvertible {
        let come: [String]
        var announced: [ClosedRange<Int64>] = []
        let found: [String]
        var isComplete = true
        var description: String { come.joined(separator: ", ") }
    }

    static let rows = [
        Row(come: ["5", "6", "7"], found: []),
        Row(come: ["5"], found: []),
        Row(come: ["5", "7"], found: ["missing 6...6"], isComplete: false),
        Row(come: ["5", "9", "20"], found: ["missing 6...8", "missing 10...19"],
            isComplete: false),
        Row(come: ["5", "9"], announced: [6...8], found: []),
        Row(come: ["5", "9"], announced: [1...7], found: ["missing 8...8"], isComplete: false),
        Row(come: ["5", "20"], announced: [7...8, 10...12, 19...30],
            found: ["missing 6...6", "missing 9...9", "missing 13...18"], isComplete: false),
        Row(come: ["5", "7", "6"], found: ["reordered 6...6"], isComplete: false),
        Row(come: ["5", "9", "7"],
            found: ["reordered 7...7", "missing 6...6", "missing 8...8"], isComplete: false),
        Row(come: ["5", "6", "5", "6", "7"], found: ["repeat 5...5", "repeat 6...6"]),
        Row(come: ["5", "6", "6 other"], found: ["conflict 6...6"], isComplete: false),
        Row(come: ["5", "6", "6 @b"], found: ["conflict 6...6"], isComplete: false),
        Row(come: ["5", "6 @b", "7 @b"], found: []),
        // Below the first nobody can say.
        Row(come: ["5", "3", "4", "6"], found: []),
        Row(come: ["5", "x", "6"], found: ["malformed"], isComplete: false),
        Row(come: ["4611686018427387903", "4611686018427387902"], found: []),
        Row(come: ["1", "4611686018427387903"],
            found: ["missing 2...4611686018427387902"], isComplete: false),
    ]

    @Test("finds what is missing, contradicted and out of order, and nothing else",
          arguments: SequenceCheckTests.rows)
    func row(row: Row) throws {
        var check = SequenceCheck()
        let board = try #require(InstallationID(boardName))
        var found: [SequenceFinding] = []
        for text in row.come { found += check.take(try arrival(text), at: .seconds(1)) }
        check.announce(row.announced, by: board)
        found += check.end()
        let said = found.map { finding in
            finding.kind.rawValue + (finding.numbers.map { " \($0)" } ?? "")
        }
        #expect(said == row.found)
        let summary = try #require(check.summaries.first)
        #expect(summary.isComplete == row.isComplete)
        #expect(summary.messages == Int64(row.come.count))
    }

    @Test("waits five seconds for a number that is late, and tells it once")
    func patience() throws {
        var check = SequenceCheck()
        _ = check.take(try arrival("1"), at: .seconds(10))
        _ = check.take(try arrival("3"), at: .seconds(10))
        #expect(check.wait(until: .milliseconds(14_999)).isEmpty)
        #expect(check.wait(until: .seconds(15)).map(\.numbers) == [2...2])
        #expect(check.wait(until: .seconds(60)).isEmpty)
        #expect(check.end().isEmpty)
        #expect(check.summaries.first?.missing == 1)
    }

    @Test("takes back what is missing once it comes or is announced")
    func takenBack() throws {
        var check = SequenceCheck()
        for number in [1, 3, 5, 8] { _ = check.take(try arrival("\(number)"), at: .zero) }
        #expect(check.wait(until: .seconds(5)).count == 3)
        #expect(check.summaries.first?.missing == 4)
        _ = check.take(try arrival("2"), at: .seconds(6))
        check.announce([4...4, 6...7], by: try #require(InstallationID(boardName)))
        let summary = try #require(check.summaries.first)
        #expect(summary.missing == 0)
        #expect(summary.counts == [.reordered: 1])
    }

    @Test("keeps boards apart, and says how many messages it had no room for")
    func boards() throws {
        var crowded = SequenceCheck()
        for index in 1000..<2100 {
            let board = "3f1f7c0e-2b7a-4d4e-9c55-01234567\(index)"
            #expect(crowded.take(try arrival("7", board: board), at: .zero).isEmpty)
        }
        #expect(crowded.boards.count == 1024)
        #expect(crowded.uncheckedMessages == 76)
    }

    @Test("stays bounded whatever the numbers are, and says that it gave up some")
    func hostile() throws {
        var check = SequenceCheck()
        var told = 0
        for number in stride(from: 1, through: 40_001, by: 2) {
            told += check.take(try arrival("\(number)"), at: .zero).count
        }
        let board = try #require(check.boards.values.first)
        #expect(board.ledger.gaps.count == SequenceLedger.gapLimit)
        told += check.end().count
        #expect(told < 40)
        let summary = try #require(check.summaries.first)
        #expect(summary.isCapped && summary.isUnchecked && !summary.isComplete)
        #expect(summary.missing == 20_000)
        // One gap over all, cut in two by each number that comes.
        var cut = SequenceCheck()
        for number in [1, 4_000_000] + Array(stride(from: 2, through: 8000, by: 2)) {
            _ = cut.take(try arrival("\(number)"), at: .zero)
        }
        #expect(try #require(cut.boards.values.first).ledger.gaps.count <= 1024)
    }

    @Test("tells the first twenty of a kind, and then at a growing pace")
    func pace() throws {
        var check = SequenceCheck()
        var told: [Int64] = []
        for _ in 0...1000 {
            told += check.take(try arrival("5"), at: .zero).map(\.count)
        }
        #expect(told == Array(1...20) + [32, 64, 128, 256, 512])
    }

    @Test("reads no number that is not one", arguments: [
        "", "0", "-1", "+1", "01", " 1", "1 ", "1.0", "1e3", "0x1", "９", "x",
        "4611686018427387904", "9223372036854775807", "9223372036854775808",
        "99999999999999999999999999",
    ])
    func badNumbers(text: String) throws {
        let properties = ["sid": "Session00a", "seq": text, "ts": "1"]
        #expect(try arrival { properties[$0] }.mark == .malformed)
    }

    @Test("tells messages without properties from those with half of them")
    func marks() throws {
        let whole = ["sid": "Session00a", "seq": "1", "ts": "1"]
        func mark(without names: [String]) throws -> ArrivedMessage.Mark {
            try arrival { names.contains($0) ? nil : whole[$0] }.mark
        }
        #expect(try mark(without: []) == .whole(
            sequence: 1, accepted: Timestamp(milliseconds: 1)))
        #expect(try mark(without: ["sid", "seq", "ts"]) == .none)
        for name in whole.keys { #expect(try mark(without: [name]) == .malformed) }
    }
}

@Suite("Number ranges")
struct NumberRangesTests {
    @Test("join what meets, and know what is not among them")
    func joined() {
        var ranges = NumberRanges(limit: 10)
        for range in [10...12, 20...20, 14...15, 13...13, 1...3, 19...25, 4...4]
            as [ClosedRange<Int64>]
        {
            ranges.insert(range)
        }
        #expect(ranges.ranges == [1...4, 10...15, 19...25])
        #expect(ranges.missing(of: 1...30) == [5...9, 16...18, 26...30])
        #expect(ranges.missing(of: 11...14) == [])
        #expect(ranges.missing(of: 12...16) == [16...16])
        #expect(ranges.missing(of: 40...Int64.max) == [40...Int64.max])
        ranges.insert(1...Int64.max)
        #expect(ranges.ranges == [1...Int64.max])
        #expect(ranges.missing(of: 1...Int64.max) == [])
    }

    @Test("agree with a set of numbers, whatever comes")
    func model() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var ranges = NumberRanges(limit: 1000)
            var model = Set<Int64>()
            for _ in 0..<20 {
                let start = Int64.random(in: 1...60, using: &generator)
                let range = start...start + Int64.random(in: 0...6, using: &generator)
                ranges.insert(range)
                model.formUnion(range)
            }
            #expect(Set(ranges.ranges.flatMap(Array.init)) == model)
            let missing = Set(ranges.missing(of: 5...70).flatMap(Array.init))
            #expect(missing == Set(5...70).subtracting(model))
        }
    }

    @Test("forget the lowest beyond their limit")
    func bounded() {
        var ranges = NumberRanges(limit: 3)
        for start in [1, 5, 9, 13] as [Int64] { ranges.insert(start...start) }
        #expect(ranges.ranges == [5...5, 9...9, 13...13])
    }
}

@Suite("Lag")
struct LagTests {
    @Test("of a board is in its summary: shortest, median, longest and last")
    func summary() throws {
        var check = SequenceCheck()
        for (number, lag) in [40, -3, 250, 12].enumerated() {
            let message = try arrival("\(number + 1)", ts: "\(now.milliseconds - Int64(lag))")
            _ = check.take(message, at: .seconds(number))
        }
        let summary = try #require(check.summaries.first)
        #expect(summary.text.contains("lag min -3 ms, p50 12 ms, p99 250 ms, max 250 ms, last 12"))
        #expect(summary.json.asObject?["lagMilliseconds"] == .object([
            "min": .integer(-3), "p50": .integer(12), "p99": .integer(250),
            "max": .integer(250), "last": .integer(12),
        ]))
    }

    @Test("has its quantiles within an eighth, and its longest exactly")
    func quantiles() {
        var lag = LagHistogram()
        #expect(lag.percentile(50) == nil)
        for value in 1...1000 as ClosedRange<Int64> { lag.add(milliseconds: value) }
        #expect((500...563).contains(lag.percentile(50) ?? 0))
        #expect((990...1000).contains(lag.percentile(99) ?? 0))
        #expect(lag.longest == 1000)
    }

    @Test("takes any number", arguments: [
        (Int64.min, 0), (-1, 0), (0, 0), (15, 15), (16, 16), (Int64.max, (1 << 41) - 1),
    ] as [(Int64, Int64)])
    func extremes(value: Int64, longest: Int64) {
        var lag = LagHistogram()
        lag.add(milliseconds: value)
        #expect(lag.longest == longest)
        #expect(lag.percentile(50) == longest)
    }
}
