import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("Messages of many alerts")
struct AlertLimitTests {
    /// Boards of another owner.
    private static func others(_ numbers: Range<Int>) throws -> [WatchedBoard] {
        try numbers.map { try Watched.board($0, of: "uSeR000002") }
    }

    /// The number of messages about new or changed alerts.
    private static func sent(_ changes: AlertChanges) -> Int {
        changes.opened.filter { $0.messages > 0 }.count + changes.reminded.count
    }

    @Test("follow a summary: after ten minutes it is sent again, or a board has its own")
    func later() throws {
        var house = try Watched(6)
        #expect(Self.sent(try house.round(after: .seconds(900))) == 1)
        // A seventh board two minutes later waits for the rest of the ten minutes.
        house.boards.append(try Watched.board(6))
        #expect(Self.sent(try house.round(after: .seconds(120))) == 0)
        for _ in 0..<7 { #expect(try house.round().isEmpty) }
        let again = try house.round()
        #expect(again.changed.map(\.messages) == [2])
        #expect(again.reminded == Set(again.changed.map(\.id)))
        let summary = try #require(house.open.first { $0.board == nil })
        #expect(summary.text == "7 boards: offline (board 1006, board 1000, board 1001 and 4 more)")
        for _ in 0..<10 { #expect(try house.round().isEmpty) }
        house.boards.append(try Watched.board(7))
        let opened = try house.round().opened
        #expect(opened.map(\.boardName) == ["board 1007"])
        #expect(opened.map(\.messages) == [1])
        // The same after a restart.
        house.watch = AlertWatch(rules: AlertRules(), at: house.now)
        #expect(try house.round().isEmpty)
    }

    @Test("of one owner's boards silence no other owner's")
    func owners() throws {
        var house = try Watched(6)
        house.boards += try Self.others(6..<7)
        let opened = try house.round(after: .seconds(900)).opened
        #expect(opened.filter { $0.messages > 0 }.map(\.boardName) == ["", "board 1006"])
        let summary = try #require(opened.first { $0.board == nil })
        #expect(summary.owner == house.boards[0].owner)
        #expect(summary.text.hasPrefix("6 boards"))
    }

    @Test("are not kept back by data, which the broker could make up")
    func data() throws {
        var house = try Watched()
        house.report(messages: 9, oldest: Watched.start - Watched.day)
        var kinds: [AlertKind] = []
        for _ in 0..<40 {
            house.boards[0].lastData = house.now + .seconds(60)
            kinds += try house.round().opened.map(\.kind)
        }
        #expect(kinds == [.boardOffline])
    }

    @Test("of an end that moves each minute are few", arguments: [7, 90])
    func moving(days: Int) throws {
        var house = try Watched()
        var opened: [Alert] = []
        var later: [Alert] = []
        for minute in 0..<120 {
            house.hear()
            let left = minute.isMultiple(of: 2) ? Watched.day / 2 : Watched.day * days
            try house.end(at: house.now + left)
            let changes = try house.round()
            opened += changes.opened
            later += changes.changed + changes.resolved
        }
        #expect(opened.map(\.messages) == [1])
        #expect(later.isEmpty)
    }

    @Test("of sessions that expire in turn count over all summaries of the owner")
    func turns() throws {
        var house = try Watched(6)
        let session = house.boards[0].session
        var sent = 0
        for minute in 0..<60 {
            for index in house.boards.indices {
                house.hear(index)
                let isExpired = minute.isMultiple(of: 2)
                house.boards[index].session = isExpired ? nil : session
                house.boards[index].expiredAt = isExpired ? house.now : nil
            }
            sent += Self.sent(try house.round())
        }
        #expect(sent == 1)
    }

    @Test("of one owner's boards are at most twenty an hour; then the rest is one summary")
    func hourly() throws {
        var house = try Watched(0)
        var sent: [Int] = []
        for minute in 1...70 {
            // One board each two minutes is less than a summary needs.
            if minute.isMultiple(of: 2) { house.boards.append(try Watched.board(minute)) }
            if minute == 50 { house.boards += try Self.others(100..<101) }
            for index in house.boards.indices where house.boards[index].lastSeen == Watched.start {
                house.boards[index].lastSeen = house.now - .seconds(900)
            }
            sent.append(Self.sent(try house.round()))
        }
        #expect(sent[..<40].reduce(0, +) == 20)
        #expect(sent[40..<61].reduce(0, +) == 1)
        #expect(sent[49] == 1)
        #expect(sent[61...].reduce(0, +) == 1)
        let summary = try #require(house.open.first { $0.board == nil })
        #expect(summary.text.hasPrefix("15 boards"))
        #expect(house.open.count == 37)
    }

    @Test("and the list itself have room for every owner")
    func full() throws {
        var house = try Watched(1100)
        house.boards += try Self.others(1100..<1101)
        let opened = try house.round(after: .seconds(900)).opened
        #expect(opened.filter { $0.board != nil }.count == 1001)
        #expect(opened.contains { $0.boardName == "board 2100" && $0.messages == 1 })
        #expect(try house.round().isEmpty)
    }
}
