import AuthorityCore
import Sessions
import Testing
import Wire

/// A watch over boards that a test changes, with the alerts as a store would keep them.
struct Watched {
    var watch: AlertWatch
    var now: Timestamp
    var boards: [WatchedBoard]
    var open: [Alert] = []
    var hearsSince: Timestamp?
    private var last: UInt16 = 0

    static let start = Timestamp(milliseconds: 1_700_000_000_000)
    static let day = Duration.seconds(86_400)

    init(_ count: Int = 1, rules: AlertRules = AlertRules()) throws {
        now = Self.start
        hearsSince = Self.start - .seconds(86_400)
        watch = AlertWatch(rules: rules, at: Self.start)
        boards = try (0..<count).map { try Self.board($0) }
    }

    static func board(_ number: Int, of owner: String = "uSeR000001") throws -> WatchedBoard {
        let digits = String(1000 + number)
        let id = try #require(InstallationID("3f1f7c0e-2b7a-4d4e-9c55-01234567\(digits)"))
        return WatchedBoard(
            installation: id, name: "board \(digits)", owner: try #require(UserID(owner)),
            session: .init(
                id: try #require(ObjectID("sEsS000001")), createdAt: start - day * 90,
                outlook: nil),
            lastSeen: start)
    }

    /// One round `span` later.
    mutating func round(after span: Duration = .seconds(60)) throws -> AlertChanges {
        now = now + span
        var last = last
        let changes = try watch.round(
            boards, open: open, AlertSight(now: now, hearsSince: hearsSince, grace: .seconds(300))
        ) {
            last += 1
            let bytes = [UInt8(last >> 8), UInt8(last & 0xFF)]
            return MessageID(random: bytes + Array(repeating: 0, count: 14))
        }
        self.last = last
        let changed = Set((changes.changed + changes.resolved).map(\.id))
        open = open.filter { !changed.contains($0.id) } + changes.changed + changes.opened
        return changes
    }

    /// The board is heard just before the next round.
    mutating func hear(_ index: Int = 0, after span: Duration = .seconds(60)) {
        boards[index].lastSeen = now + span
    }

    mutating func end(at time: Timestamp, _ index: Int = 0) throws {
        let made = Self.start - Self.day * 90
        let id = try #require(ObjectID("sEsS000001"))
        let session = Session(
            objectID: id, user: try #require(UserID("uSeR000001")), restricted: true,
            createdWith: CreatedWith(action: "provision", authProvider: "postern"),
            installationID: boards[index].installation, createdAt: made, expiresAt: time)
        boards[index].session = .init(
            id: id, createdAt: made, outlook: SessionOutlook(of: session, lastHeard: now))
    }

    mutating func report(
        refused: Int64 = 0, messages: Int64 = 0, oldest: Timestamp? = nil, hoursLeft: Int64? = nil,
        isShared: Bool = false
    ) {
        boards[0].report = BoardReport(
            queue: .init(
                messages: messages, bytes: messages, oldest: oldest, hoursLeft: hoursLeft),
            refused: refused, refusals: [], isShared: isShared)
    }
}

@Suite("Alerts")
struct AlertWatchTests {
    @Test("of a board that is offline are opened once, and resolved when it was heard for a while")
    func offline() throws {
        var house = try Watched()
        #expect(try house.round(after: .seconds(899)).isEmpty)
        let opened = try house.round(after: .seconds(1)).opened
        #expect(opened.map(\.kind) == [.boardOffline])
        #expect(opened.first?.text
            == "board 1000 is offline: it was last heard at 2023-11-14 22:13 UTC")
        #expect(opened.first?.messages == 1)
        #expect(try house.round().isEmpty)
        // It comes and goes: neither is news before five minutes.
        house.hear()
        #expect(try house.round().isEmpty)
        house.hear(after: .seconds(240))
        let changes = try house.round(after: .seconds(240))
        #expect(changes.resolved.map(\.kind) == [.boardOffline])
        #expect(changes.resolved.first?.resolvedAt == house.now)
        #expect(changes.resolved.first?.messages == 2)
        #expect(house.open.isEmpty)
    }

    @Test("are not opened while the broker is away, nor before boards had the time to be heard")
    func grace() throws {
        var house = try Watched()
        house.hearsSince = nil
        #expect(try house.round(after: .seconds(3600)).isEmpty)
        house.hearsSince = house.now
        #expect(try house.round(after: .seconds(299)).isEmpty)
        #expect(try house.round(after: .seconds(1)).opened.map(\.kind) == [.boardOffline])
        // An open alert stays while nothing can be heard.
        house.hearsSince = nil
        #expect(try house.round(after: .seconds(3600)).isEmpty)
    }

    @Test("of many boards at once are listed each, and sent as one")
    func many() throws {
        var house = try Watched(7)
        let opened = try house.round(after: .seconds(900)).opened
        #expect(opened.count == 8)
        #expect(opened.filter { $0.board != nil }.allSatisfy { $0.messages == 0 })
        let summary = try #require(opened.first { $0.board == nil })
        #expect(summary.messages == 1)
        #expect(summary.text == "7 boards: offline (board 1000, board 1001, board 1002 and 4 more)")
        // One more joins them without a message; so does one that returns.
        house.boards.append(try Watched.board(7))
        let joined = try house.round()
        #expect(joined.opened.map(\.messages) == [0])
        #expect(joined.changed.map(\.text).first?.hasPrefix("8 boards") == true)
        #expect(joined.reminded.isEmpty)
        for _ in 0..<6 {
            for index in house.boards.indices { house.hear(index) }
            _ = try house.round()
        }
        #expect(house.open.isEmpty)
    }

    @Test("of five boards within ten minutes are sent each; the sixth begins a summary")
    func budget() throws {
        var house = try Watched(6)
        for index in house.boards.indices {
            house.boards[index].lastSeen = Watched.start + .seconds(60 * Int64(index))
        }
        var sent: [Int64] = []
        _ = try house.round(after: .seconds(840))
        for _ in 0..<6 { sent += try house.round().opened.map(\.messages) }
        #expect(sent == [1, 1, 1, 1, 1, 0, 1])
    }

    @Test("of a session's end come 30, 7 and 1 days ahead, as one alert with three messages")
    func ending() throws {
        var house = try Watched()
        let day = Watched.day
        try house.end(at: Watched.start + day * 40)
        var messages: [Int64] = []
        for _ in 0..<39 {
            house.hear(after: day)
            let changes = try house.round(after: day)
            messages += (changes.opened + changes.changed).map(\.messages)
            #expect(changes.reminded.count == changes.changed.count)
            let words = "ends in 30 days, at 2023-12-24"
            #expect(changes.opened.allSatisfy { $0.text.contains(words) })
        }
        #expect(messages == [1, 2, 3])
        // Extended: resolved after ten minutes.
        try house.end(at: house.now + day * 60)
        for minute in 1...10 {
            house.hear()
            #expect(try house.round().resolved.map(\.messages) == (minute == 10 ? [4] : []))
        }
    }

    @Test("of a session that has expired lead to its renewal, and end with the next session")
    func expired() throws {
        var house = try Watched()
        let session = house.boards[0].session
        house.boards[0].session = nil
        #expect(try house.round().isEmpty)
        house.boards[0].expiredAt = house.now
        let opened = try house.round().opened
        #expect(opened.map(\.kind) == [.sessionExpired])
        #expect(opened.first?.text.hasSuffix("postern boards renew 3f1f7c0e") == true)
        (house.boards[0].session, house.boards[0].expiredAt) = (session, nil)
        house.hear(after: .seconds(600))
        #expect(try house.round(after: .seconds(600)).resolved.map(\.kind) == [.sessionExpired])
    }

    @Test("of a silent board need data before, a connection, and the whole time")
    func silent() throws {
        var house = try Watched()
        let hour = Duration.seconds(3600)
        for _ in 0..<8 {
            house.hear(after: hour)
            #expect(try house.round(after: hour).isEmpty)
        }
        house.boards[0].lastData = house.now
        for _ in 0..<5 {
            house.hear(after: hour)
            #expect(try house.round(after: hour).isEmpty)
        }
        house.hear(after: hour)
        #expect(try house.round(after: hour).opened.map(\.kind) == [.boardSilent])
        // Offline now: whether it is silent is unknown.
        #expect(try house.round(after: hour).opened.map(\.kind) == [.boardOffline])
        house.hear()
        house.boards[0].lastData = house.now
        #expect(Set(try house.round(after: .seconds(300)).resolved.map(\.kind))
            == [.boardSilent, .boardOffline])
    }

    @Test("of refusals count within an hour, over a restart of the agent")
    func refusals() throws {
        var house = try Watched()
        func next(_ refused: Int64, _ house: inout Watched) throws -> AlertChanges {
            house.hear()
            house.report(refused: refused)
            return try house.round()
        }
        // Refused before the watch began.
        #expect(try next(5000, &house).isEmpty)
        #expect(try next(5060, &house).isEmpty)
        #expect(try next(39, &house).isEmpty)
        let opened = try next(40, &house).opened
        #expect(opened.map(\.text) == ["board 1000 refused 100 writes of its apps within an hour"])
        for _ in 0..<110 { #expect(try next(40, &house).opened.isEmpty) }
        var resolved = 0
        for _ in 0..<12 { resolved += try next(40, &house).resolved.count }
        #expect(resolved == 1)
    }

    @Test("of a queue need data that waits too long for a while, on a connected board")
    func queue() throws {
        var house = try Watched()
        let oldest = Watched.start - Watched.day
        for minute in 1...16 {
            house.hear()
            house.report(messages: 9, oldest: oldest)
            let opened = try house.round().opened
            #expect(opened.map(\.kind) == (minute == 16 ? [.queueFilling] : []))
        }
        house.report()
        for minute in 1...15 {
            house.hear()
            #expect(try house.round().resolved.count == (minute == 15 ? 1 : 0))
        }
        // Just back after a day, and sending what waited.
        house.hear()
        house.report(messages: 9, oldest: oldest)
        #expect(try house.round().isEmpty)
        house.hear()
        house.report(messages: 2, oldest: house.now)
        #expect(try house.round().isEmpty)
    }

    @Test("of a queue that is full within a day come before it is full", arguments: [
        (23, "is full in about 23 hours, at this rate"),
        (0, "is full within an hour, at this rate"),
        (24, nil), (.max, nil),
    ] as [(Int64, String?)])
    func filling(hours: Int64, words: String?) throws {
        var house = try Watched()
        var opened: [Alert] = []
        for _ in 0..<16 {
            house.hear()
            house.report(messages: 9, oldest: house.now, hoursLeft: hours)
            opened += try house.round().opened
        }
        #expect(opened.map(\.text) == (words.map { ["The outbox of board 1000 \($0)"] } ?? []))
    }

    @Test("of refusals bear any count that a board tells")
    func counts() throws {
        var house = try Watched()
        for refused in [1, .max, 5, .max, 0, .max] as [Int64] {
            house.hear()
            house.report(refused: refused)
            _ = try house.round()
        }
        #expect(house.open.map(\.kind) == [.refusals])
    }

    @Test("of a second machine last an hour longer than it is seen")
    func shared() throws {
        var house = try Watched()
        for (isShared, minutes, opened, resolved) in [
            (true, 1, 1, 0), (false, 3, 0, 0), (true, 3, 0, 0), (false, 59, 0, 0),
            (false, 1, 0, 1),
        ] as [(Bool, Int64, Int, Int)] {
            house.hear(after: .seconds(60 * minutes))
            house.report(isShared: isShared)
            let changes = try house.round(after: .seconds(60 * minutes))
            #expect(changes.opened.count == opened)
            #expect(changes.resolved.count == resolved)
        }
    }

    @Test("of a board that is released, or has a new owner, are resolved")
    func gone() throws {
        var house = try Watched(2)
        _ = try house.round(after: .seconds(900))
        #expect(house.open.count == 2)
        house.boards.removeLast()
        #expect(try house.round().resolved.map(\.boardName) == ["board 1001"])
        let board = house.boards[0]
        house.boards[0] = WatchedBoard(
            installation: board.installation, name: board.name, owner: board.owner,
            ownedSince: house.now, session: board.session, lastSeen: board.lastSeen)
        #expect(try house.round().resolved.map(\.boardName) == ["board 1000"])
    }

    @Test("that are open are not opened again after a restart, nor resolved at once")
    func restart() throws {
        var house = try Watched()
        _ = try house.round(after: .seconds(900))
        house.watch = AlertWatch(rules: AlertRules(), at: house.now)
        #expect(try house.round().isEmpty)
        house.watch = AlertWatch(rules: AlertRules(), at: house.now)
        house.hear()
        #expect(try house.round().isEmpty)
        house.hear(after: .seconds(240))
        #expect(try house.round(after: .seconds(240)).resolved.count == 1)
    }
}
