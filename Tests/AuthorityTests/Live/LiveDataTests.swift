import Gate
import Sessions
import Testing
import Wire

@testable import AuthorityCore

@Suite("Live data")
struct LiveDataTests {
    private static let start = Timestamp(milliseconds: 1_700_000_000_000)

    private func reading(
        _ payload: [UInt8], of board: InstallationID = .numbered(1), after seconds: Int64 = 0
    ) throws -> Reading {
        let name = try #require(ClassName("Reading"))
        let path = try #require(RecordPath(className: name, operation: .create, record: nil))
        return try #require(Reading(
            payload, path, sequence: nil, of: board, at: Self.start + .seconds(seconds)))
    }

    private static let payloads: [(String, [String: Double], String?)] = [
        (#"{"celsius":21.5,"n":3}"#, ["celsius": 21.5, "n": 3], nil),
        (#"{"at":{"lat":1.25,"lon":-2}}"#, ["at.lat": 1.25, "at.lon": -2], nil),
        ("21.5", ["value": 21.5], nil), (" 7 ", ["value": 7], nil),
        (#"{"celsius":20,"door":{"state":"open","locked":false}}"#, ["celsius": 20],
         "door.locked: false, door.state: open"),
        (#"{"on":true}"#, [:], #"{"on":true}"#), (#"["a",1]"#, [:], #"["a",1]"#),
        ("hello", [:], "hello"), ("", [:], ""), ("{\"a\":1", [:], "{\"a\":1"),
        ("a\u{1b}[2Jb\nc", [:], "a [2Jb\nc"), ("{\"a\":1e999}", [:], "{\"a\":1e999}"),
        (#"{"a":{"b":{"c":{"d":{"e":1}}}}}"#, [:], #"{"a":{"b":{"c":{"d":{"e":1}}}}}"#),
    ]

    @Test("finds the numbers of a payload, and else shows its text", arguments: payloads)
    func content(payload: String, values: [String: Double], text: String?) throws {
        let reading = try reading(Array(payload.utf8))
        #expect(reading.values == values)
        #expect(reading.text == text)
    }

    private static let many = (0..<2000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
    private static let hostile: [[UInt8]] = [
        [0xFF, 0xFE], [UInt8](repeating: UInt8(ascii: "["), count: 60_000),
        Array(String(repeating: "{\"a\":", count: 10_000).utf8),
        [UInt8](repeating: 0, count: 64), Array("-".utf8), Array("{\u{0}}".utf8),
        Array("{\(many)}".utf8), Array("9999999999999999999999999999".utf8),
    ]

    @Test("has an answer to any bytes", arguments: hostile)
    func anything(payload: [UInt8]) throws {
        let reading = try reading(payload)
        #expect(reading.values.count <= 16 && reading.texts.count <= 16)
        #expect((reading.text?.unicodeScalars.count ?? 0) <= 512)
        #expect(!reading.values.values.contains { !$0.isFinite })
        if payload == [0xFF, 0xFE] { #expect(reading.text == "2 bytes") }
    }

    @Test("does not read what is too large, and counts it")
    func large() throws {
        let name = try #require(ClassName("Reading"))
        let path = try #require(RecordPath(className: name, operation: .create, record: nil))
        let large = [UInt8](repeating: UInt8(ascii: "1"), count: 64 * 1024 + 1)
        #expect(
            Reading(large, path, sequence: nil, of: .numbered(1), at: Self.start) == nil)
        var data = LiveData()
        data.count(.numbered(1), at: Self.start)
        #expect(data.live(of: .numbered(1), at: Self.start).minutes?.messages.last == 1)
    }

    @Test("forgets what is from before its owner's time, and nothing else")
    func owner() {
        var data = LiveData()
        let board = InstallationID.numbered(1)
        data.count(board, at: Self.start)
        data.forget(board, before: Self.start)
        #expect(data.lastData(of: board) == Self.start)
        data.forget(board, before: Self.start + .seconds(1))
        #expect(data.lastData(of: board) == nil)
        #expect(data.live(of: board, at: Self.start).minutes?.messages.last == 0)
    }

    @Test("counts by minutes, the last of which is running")
    func minutes() throws {
        var data = LiveData()
        let board = InstallationID.numbered(1)
        for second in [0, 1, 60, 300] { data.take(try reading([0x31], after: Int64(second))) }
        let minutes = data.minutes(of: board, at: Self.start + .seconds(360))
        #expect(minutes.messages.count == 60)
        #expect(minutes.messages.suffix(7) == [2, 1, 0, 0, 0, 1, 0])
        #expect(minutes.start.milliseconds % 60_000 == 0)
        #expect(minutes.start + .seconds(59 * 60) <= Self.start + .seconds(360))
        #expect(minutes.refused.allSatisfy { $0 == nil })
        // An hour later nothing of it is left; a clock that goes back loses nothing.
        let later = data.minutes(of: board, at: Self.start + .seconds(7200))
        #expect(later.messages.allSatisfy { $0 == 0 })
        data.take(try reading([0x31], after: 7200))
        data.take(try reading([0x31], after: 0))
        #expect(data.minutes(of: board, at: Self.start).messages.last == 2)
    }

    @Test("draws what a status says of queue and refusals until the next one")
    func status() throws {
        var data = LiveData()
        let board = InstallationID.numbered(1)
        data.note(queue: 5, refused: 10, of: board, at: Self.start)
        data.note(queue: 9, refused: 13, of: board, at: Self.start + .seconds(60))
        // The board was started anew.
        data.note(queue: 0, refused: 2, of: board, at: Self.start + .seconds(180))
        let minutes = data.minutes(of: board, at: Self.start + .seconds(240))
        #expect(minutes.refused.suffix(5) == [0, 3, 0, 2, 0])
        #expect(minutes.queue.suffix(5) == [5, 9, 9, 0, 0])
        #expect(minutes.queue.prefix(54).allSatisfy { $0 == nil })
        data.note(
            queue: .max, refused: .max, of: board, at: Self.start + .seconds(240))
        data.note(
            queue: .min, refused: .min, of: board, at: Self.start + .seconds(240))
        #expect(data.runningMinute(of: board, at: Self.start + .seconds(240)).queue == 0)
    }

    @Test("names each text by its field, and a payload without fields is one", arguments: [
        (#"{"celsius":20,"door":{"state":"open","locked":false}}"#,
         ["door.locked": "false", "door.state": "open"]),
        (#"{"on":true,"list":[1]}"#, ["on": "true"]), (#"["a",1]"#, ["value": #"["a",1]"#]),
        ("hello", ["value": "hello"]), ("21.5", [:]), (#"{"a":1}"#, [:]), ("{}", ["value": "{}"]),
    ] as [(String, [String: String])])
    func texts(payload: String, texts: [String: String]) throws {
        #expect(try reading(Array(payload.utf8)).texts == texts)
    }

    @Test("keeps the newest value of each field, of so many fields of a board")
    func bounds() throws {
        var data = LiveData()
        let board = InstallationID.numbered(1)
        for number in 0..<350 {
            data.take(try reading(
                Array("{\"a\":\(number),\"b\":\"\(number)\"}".utf8), after: Int64(number)))
        }
        let newest = data.live(of: board, at: Self.start).newest
        #expect(newest.count == 2)
        #expect(newest.first { $0.field == "a" }?.value == .number(349))
        #expect(newest.first { $0.field == "b" }?.value == .text("349"))
        for number in 0..<40 {
            data.take(try reading(Array("{\"k\(number)\":1}".utf8), after: 400 + Int64(number)))
        }
        let live = data.live(of: board, at: Self.start)
        #expect(live.newest.map(\.field) == (24..<40).reversed().map { "k\($0)" })
    }

    @Test("lets a value that waited on the board replace no newer one")
    func late() throws {
        let name = try #require(ClassName("Reading"))
        let path = try #require(RecordPath(className: name, operation: .create, record: nil))
        var data = LiveData()
        let board = InstallationID.numbered(1)
        data.take(try reading(Array("1".utf8)))
        data.take(try #require(Reading(
            Array("2".utf8), path, sequence: nil, of: board, at: Self.start + .seconds(5),
            writtenAt: Self.start - .seconds(500))))
        let newest = data.live(of: board, at: Self.start).newest
        #expect(newest.map(\.value) == [.number(1)])
        #expect(newest.first?.writtenAt == Self.start)
    }

    @Test("forgets the boards that were silent longest, and bounds all fields together")
    func boards() throws {
        var data = LiveData(limit: 100)
        for number in 0..<1000 {
            data.take(try reading([0x31], of: .numbered(number)))
            data.take(try reading([0x31], of: .numbered(0)))
        }
        #expect(data.count <= 100)
        #expect(data.lastData(of: .numbered(0)) != nil)
        #expect(data.lastData(of: .numbered(999)) != nil)
        #expect(data.lastData(of: .numbered(1)) == nil)
        var few = LiveData(limit: 100, fieldLimit: 50)
        for number in 0..<100 { few.take(try reading([0x31], of: .numbered(number))) }
        #expect(few.count <= 51)
    }
}

extension InstallationID {
    static func numbered(_ number: Int) -> InstallationID {
        InstallationID(random: (0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })
    }
}
