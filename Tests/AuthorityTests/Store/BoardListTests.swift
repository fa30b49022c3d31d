import AuthorityCore
import AuthorityStore
import Sessions
import Testing
import Wire

/// Pages of boards, as each store filters, sorts and cuts them.
@Suite("A page of boards", .everyStore)
struct BoardListTests {
    private static func id(_ number: Int) -> InstallationID {
        InstallationID(random: [UInt8(number % 256), UInt8(number / 256)] + Array(
            repeating: 7, count: 14))
    }

    private func add(
        _ names: [String], to house: House, of owner: Caller, from first: Int = 0,
        labels: [BoardLabel] = []
    ) async throws {
        let owner = owner.user.objectID
        try await house.store.transact { tx throws(AuthorityError) in
            for (number, name) in names.enumerated() {
                try tx.save(BoardRecord(
                    installation: Self.id(first + number), name: name,
                    deviceKey: Array(repeating: 1, count: 32), owner: owner, released: false,
                    lastSeen: nil, labels: labels))
            }
        }
    }

    private func query(
        _ order: BoardQuery.Order = .name, search: String? = nil, label: String? = nil,
        limit: Int = 200
    ) throws -> BoardQuery {
        var query = BoardQuery()
        query.order = order
        query.limit = limit
        query.search = try search.map { try #require(BoardSearch($0)) }
        query.label = try label.map { try #require(BoardLabel($0)) }
        return query
    }

    private func names(
        _ query: BoardQuery, _ house: House, _ caller: Caller
    ) async throws -> [String] {
        try await house.authority.boards(query, by: caller).entries.map(\.board.name)
    }

    @Test("takes a search as it is written, in any case", arguments: [
        ("%", ["100% full"]), ("_", ["a_b"]), ("\\", [#"back\slash"#]), ("KÜCHE", ["Küche"]),
        ("A", ["a_b", #"back\slash"#, "what?1"]),
        ("'", ["it's"]), ("?1", ["what?1"]), ("nothing", []),
    ] as [(String, [String])])
    func search(text: String, found: [String]) async throws {
        let house = try await House()
        let ada = try await house.login()
        try await add(
            ["100% full", "a_b", #"back\slash"#, "Küche", "it's", "what?1"], to: house, of: ada)
        let page = try await house.authority.boards(query(search: text), by: ada)
        #expect(page.entries.map(\.board.name).sorted() == found.sorted())
        #expect(page.counts?.all == found.count)
        let begun = try await names(
            query(search: String(Self.id(3).description.prefix(6))), house, ada)
        #expect(begun == ["Küche"])
    }

    @Test("follows another without a gap while boards come, go and are renamed",
        arguments: [BoardQuery.Order.name, .attention])
    func paging(order: BoardQuery.Order) async throws {
        let house = try await House()
        let ada = try await house.login()
        let stable = (0..<25).map { "m\(100 + $0)" }
        try await add(stable, to: house, of: ada)
        try await add(["m000"], to: house, of: ada, from: 300)
        var query = try query(order, limit: 4)
        var seen: [String] = []
        var number = 400
        repeat {
            let page = try await house.authority.boards(query, by: ada)
            #expect(page.entries.count <= 4)
            #expect((page.counts == nil) == (query.after != nil))
            seen += page.entries.map(\.board.name)
            query.after = page.next
            // New ones before and after the place, and the last one read goes.
            try await add(["a\(number)", "z\(number)"], to: house, of: ada, from: number)
            if number == 400 {
                _ = try await house.authority.release(Self.id(300), by: ada)
            }
            number += 2
        } while query.after != nil && number < 500
        #expect(seen.filter { $0.hasPrefix("m1") } == stable)
        #expect(Set(seen).count == seen.count)
    }

    @Test("shows a board that moves up meanwhile twice or not at all, and the counts tell")
    func moving() async throws {
        let house = try await House()
        let ada = try await house.login()
        try await add((0..<9).map { "m\($0)" }, to: house, of: ada)
        var query = try query(.attention, limit: 3)
        var page = try await house.authority.boards(query, by: ada)
        var seen = page.entries.map(\.board.name)
        let (now, risen) = (house.clock.now, Self.id(7))
        try await house.store.transact { tx throws(AuthorityError) in
            try tx.save(Alert(
                id: try Self.fresh(), kind: .refusals, board: risen, boardName: "", text: "",
                details: [:], openedAt: now, resolvedAt: nil))
        }
        while let next = page.next {
            query.after = next
            page = try await house.authority.boards(query, by: ada)
            seen += page.entries.map(\.board.name)
        }
        #expect(seen == (0..<9).filter { $0 != 7 }.map { "m\($0)" })
        query.after = nil
        page = try await house.authority.boards(query, by: ada)
        #expect(page.counts?.all == 9 && page.entries.map(\.board.name) == ["m7", "m0", "m1"])
    }

    @Test("has the caller's boards alone, and everyone's for an administrator who asks")
    func owners() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        try await add(["ada's"], to: house, of: ada)
        let barn = try #require(BoardLabel("barn"))
        try await add(["bob's"], to: house, of: bob, from: 10, labels: [barn])
        for order in [BoardQuery.Order.name, .attention] {
            #expect(try await names(query(order), house, ada) == ["ada's"])
            #expect(try await names(query(order, search: "bob"), house, ada) == [])
            #expect(try await names(query(order, label: "barn"), house, ada) == [])
            #expect(try await names(query(order), house, bob) == ["bob's"])
            var everyone = try query(order)
            everyone.everyone = true
            #expect(try await names(everyone, house, ada) == ["ada's", "bob's"])
            await #expect(throws: AuthorityError.self) {
                try await house.authority.boards(everyone, by: bob)
            }
        }
        let page = try await house.authority.boards(query(), by: ada)
        #expect(page.labels == [:] && page.counts?.all == 1)
        // A cursor is only values: another's board as its place shows nothing of it.
        var after = try query(limit: 1)
        after.after = BoardPosition(attention: nil, nameKey: "a", board: Self.id(10))
        #expect(try await names(after, house, ada) == ["ada's"])
        let device = try await house.device(by: ada).caller
        let nothing = try await house.authority.boards(query(), by: device)
        #expect(nothing.entries.isEmpty && nothing.counts?.all == 0)
        await #expect(throws: AuthorityError.self) {
            try await house.authority.change(
                Self.id(10), BoardChange(labels: .set([barn])), by: house.addUser("eve"))
        }
    }

    @Test("begins with what needs a person: alerts, ends of sessions, boards that are away")
    func attention() async throws {
        let house = try await House(lifetimes: .longLived)
        let ada = try await house.login()
        func live(_ name: String, up: Bool = true, days: Int64? = nil) async throws -> LiveBoard {
            let live = try await house.provisioned(
                BoardDouble(), by: ada, duration: days.map { .seconds($0 * 86_400) })
            let board = live.board.installation
            let name = try #require(BoardName(name))
            _ = try await house.authority.change(board, BoardChange(name: name), by: ada)
            // What a board calls its version is no status.
            try await house.authority.note(
                BoardStatus(
                    up: up, available: true, version: #""status":"up""#, since: house.clock.now),
                of: board)
            return live
        }
        _ = try await live("b calm")
        let loud = try await live("z loud")
        _ = try await live("c away", up: false)
        let ended = try await live("d ended")
        _ = try await live("e ending", days: 40)
        _ = try await live("a short", days: 20)
        _ = try await house.authority.revoke(ended.session, by: ada)
        house.clock.advance(.seconds(11 * 86_400))
        let now = house.clock.now
        try await house.store.transact { tx throws(AuthorityError) in
            for (kind, resolved) in [(AlertKind.refusals, false), (.boardSilent, true)] {
                try tx.save(Alert(
                    id: try Self.fresh(), kind: kind, board: loud.board.installation,
                    boardName: "", text: "", details: [:], openedAt: now,
                    resolvedAt: resolved ? now : nil))
            }
        }
        let page = try await house.authority.boards(query(.attention), by: ada)
        #expect(page.entries.map(\.board.name)
            == ["z loud", "d ended", "e ending", "c away", "a short", "b calm"])
        #expect(page.entries.map(\.attention)
            == [.alert, .session, .session, .offline, .none, .none])
        for entry in page.entries where entry.board.session != nil && entry.attention != .alert {
            #expect((entry.board.warning != nil) == (entry.attention == .session))
        }
        let counts = try #require(page.counts)
        #expect(counts == BoardCounts(
            all: 6, online: 5, needing: [.alert: 1, .session: 2, .offline: 1]))
    }

    @Test("announces the earliest end alone, as the board itself", arguments: [
        (29, 40, nil, 11, false), (29, 40, nil, 22, true), (60, 40, nil, 9, false),
        (60, 40, nil, 10, true), (60, nil, 8, 0, false), (60, nil, 8, 1, true),
        (60, nil, 31, 0, false), (60, nil, 31, 1, true), (1, nil, nil, 0, false),
    ] as [(Int64, Int64?, Int64?, Int64, Bool)])
    func end(
        days: Int64, absolute: Int64?, idle: Int64?, age: Int64, isAnnounced: Bool
    ) async throws {
        func span(_ days: Int64) -> Duration { .seconds(days * 86_400) }
        let house = try await House(
            lifetimes: LifetimePolicy(
                access: .seconds(300), absolute: absolute.map(span), idle: idle.map(span)))
        let ada = try await house.login()
        _ = try await house.provisioned(
            BoardDouble(), by: ada, duration: span(min(days, absolute ?? days)))
        house.clock.advance(span(age))
        let entry = try #require(
            try await house.authority.boards(query(.attention), by: house.login()).entries.first)
        #expect((entry.attention == .session) == isAnnounced)
        #expect((entry.board.warning != nil) == isAnnounced)
    }

    @Test("holds the longest names, each form of a text, and finds them")
    func longNames() async throws {
        let house = try await House()
        let ada = try await house.login()
        // 64 characters of 3.9 kB: more than an index can hold.
        let long = String(String.UnicodeScalarView((0..<1950).flatMap { number in
            let mark = Unicode.Scalar(UInt32(0x300 + number * 2_654_435_761 / 4096 % 0x60))
            return number % 31 == 0 ? [Unicode.Scalar("a"), mark ?? "b"] : [mark ?? "b"]
        }))
        #expect(long.count <= 64 && long.utf8.count > 3800)
        try await add([long, "Cafe\u{301}"], to: house, of: ada)
        let page = try await house.authority.boards(query(limit: 1), by: ada)
        var rest = try query(limit: 1)
        let next: BoardPosition = try #require(page.next)
        rest.after = next
        let all = page.entries.map(\.board.name) + (try await names(rest, house, ada))
        #expect(Set(all) == [long, "Cafe\u{301}"])
        #expect(try await names(query(search: "CAF\u{C9}"), house, ada) == ["Cafe\u{301}"])
    }

    private static func fresh() throws(AuthorityError) -> MessageID {
        do { return try MessageID.fresh() } catch {
            throw .failed(layer: "test", text: "\(error)")
        }
    }

    @Test("has the boards of a label, until they are released")
    func labels() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let board = live.board.installation
        let words = try ["north", "barn", "barn", "barn-2"].map { try #require(BoardLabel($0)) }
        let labeled = try await house.authority.change(
            board, BoardChange(labels: .set(Set(words))), by: ada)
        #expect(labeled.labels.map(\.description) == ["barn", "barn-2", "north"])
        #expect(try await house.authority.board(board, by: ada).board.labels == labeled.labels)
        // A change leaves the others. Nothing of it is done if it would leave too many.
        let south = try #require(BoardLabel("south"))
        let swap = BoardChange.Labels.change(adding: [south], removing: [words[0]])
        let swapped = try await house.authority.change(
            board, BoardChange(labels: swap), by: ada)
        #expect(swapped.labels.map(\.description) == ["barn", "barn-2", "south"])
        let back = BoardChange.Labels.change(adding: [words[0]], removing: [south])
        _ = try await house.authority.change(board, BoardChange(labels: back), by: ada)
        try await add(["other"], to: house, of: ada, labels: [words[0]])
        let page = try await house.authority.boards(query(label: "barn"), by: ada)
        #expect(page.entries.map(\.board.installation) == [board])
        #expect(page.labels == [words[0]: 2, words[1]: 1, words[3]: 1])
        #expect(try await names(query(label: "bar"), house, ada) == [])
        #expect(try await house.audit("board.labeled").map(\.detail) .last == "barn, barn-2, north")
        // A heartbeat and another claim of the same owner leave them.
        _ = try await live.authenticate()
        _ = try await house.provisioned(live.board.pairedAnew(), by: ada)
        #expect(try await house.authority.board(board, by: ada).board.labels == labeled.labels)
        let many = try (0...BoardLabel.most).map { try #require(BoardLabel("l\($0)")) }
        await #expect(throws: AuthorityError.self) {
            try await house.authority.change(
                board, BoardChange(name: BoardName("too many"), labels: .set(Set(many))), by: ada)
        }
        #expect(try await house.authority.board(board, by: ada).board.name != "too many")
        _ = try await house.authority.release(board, by: ada)
        let bob = try await house.addUser("bob")
        _ = try await house.provisioned(live.board.pairedAnew(), by: bob)
        #expect(try await house.authority.board(board, by: bob).board.labels == [])
    }
}
