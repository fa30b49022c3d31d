import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Answers and results of commands")
struct CommandResultTests {
    @Test("the first answer counts; the same again is no fault")
    func twice() throws {
        var board = try CommandBench()
        let id = try board.deliver()
        #expect(try board.answer(id, "1") == nil)
        #expect(board.states == ["answered 1"])
        #expect(try board.answer(id, "1") == nil)
        #expect(board.results.isEmpty)
        #expect(try board.answer(id, "2") == 101)
    }

    @Test("an answer may come before the PUBACK of its command")
    func early() throws {
        var board = try CommandBench()
        let id = try board.send()
        #expect(try board.answer(id) == nil)
        #expect(board.states == [#"answered {"ok":true}"#])
        try board.handle(.commandPublished(id, .taken))
        #expect(board.results.isEmpty)
    }

    @Test("another app, an unknown id and a refused command have no answer")
    func others() throws {
        var board = try CommandBench()
        let id = try board.deliver()
        #expect(try board.answer(id, by: "door") == 101)
        #expect(try board.answer(.fresh()) == 101)
        let refused = try board.send(app: "door")
        #expect(try board.answer(refused, by: "door") == 101)
        #expect(try board.answer(id) == nil)
    }

    @Test("an answer after the deadline is refused")
    func late() throws {
        var board = try CommandBench()
        let id = try board.deliver()
        board.bench.pass(.seconds(60))
        #expect(try board.answer(id) == 101)
        #expect(board.states == ["expired there"])
    }

    @Test("an answer is one JSON text within its bounds", arguments: [
        ("", 107), ("{", 107), ("1 2", 107), (#"1,"b":2"#, 107), (#"{"a":1,"a":2}"#, 107),
        (String(repeating: "[", count: 32) + String(repeating: "]", count: 32), 107),
        (String(repeating: "[", count: 31) + String(repeating: "]", count: 31), nil),
        ("\"" + String(repeating: "a", count: 16_382) + "\"", nil),
        ("\"" + String(repeating: "a", count: 16_383) + "\"", 116), ("null", nil), (" 1 ", nil),
    ] as [(String, Int64?)])
    func bounds(text: String, code: Int64?) throws {
        var board = try CommandBench()
        let id = try board.deliver()
        #expect(try board.answer(id, text) == code)
        #expect(board.results.count == (code == nil ? 1 : 0))
        try board.restart()
        #expect(board.results.count == (code == nil ? 1 : 0))
    }

    @Test("a final result is repeated under one id until the reply")
    func repeated() throws {
        var board = try CommandBench()
        let id = try board.deliver()
        try board.answer(id, "\"of-ann\"")
        let first = try #require(board.results.first?.id)
        // The first repetition comes 15 to 30 s later.
        try board.run(for: .seconds(31))
        #expect(board.results.count >= 2 && Set(board.results.map(\.id)) == [first])
        try board.confirm(Refusal(.rateLimit, "busy"))
        try board.run(for: .seconds(120))
        #expect(board.results.contains { $0.id == first })
        try board.handle(.uplink(.lost("away")))
        try board.run(for: .seconds(5))
        #expect(board.results.isEmpty)
        try board.note(board.bench.connect())
        #expect(board.results.map(\.id) == [first])
        try board.confirm()
        #expect(!board.bench.store.text.contains("of-ann"))
        try board.run(for: .seconds(1000))
        #expect(board.results.isEmpty)
    }

    @Test("an authority that does not know results ends the repetition, too")
    func unknown() throws {
        var board = try CommandBench()
        let id = try board.deliver()
        try board.answer(id)
        try board.confirm(Refusal(.forbidden, "unknown message type"))
        try board.run(for: .seconds(1000))
        #expect(board.results.isEmpty)
    }

    @Test("a reply sets no clock and is no contact")
    func noContact() throws {
        var board = try CommandBench()
        let id = try board.deliver()
        try board.answer(id)
        let before = try board.bench.store.load()
        let message = try #require(board.results.last)
        try board.bench.reply(message, .result(Reply.Result()), now: board.now + .seconds(900))
        let after = try board.bench.store.load()
        #expect(after.session?.lastContact == before.session?.lastContact)
        #expect(after.memory == before.memory)
    }

    @Test("at most 16 answers are kept")
    func many() throws {
        var board = try CommandBench()
        var ids: [MessageID] = []
        for number in 0..<18 {
            ids.append(try board.deliver())
            try board.answer(ids[number], "\"answer-\(number)\"")
        }
        #expect(!board.bench.store.text.contains("answer-1\\"))
        #expect(board.bench.store.text.contains("answer-2\\"))
        try board.restart()
        #expect(board.states.count == 16)
        try board.send(ids[0])
        #expect(board.states == ["delivered"])
        #expect(try board.answer(ids[0], "3") == 101)
    }
}
