import AuthorityCore
import AuthorityStore
import Sessions
import Testing
import Wire

@Suite("A board's timeline", .everyStore)
struct TimelineTests {
    private func events(
        of board: BoardDouble, in house: House, by caller: Caller
    ) async throws -> [TimelineEvent] {
        try await house.authority.timeline(of: board.installation, by: caller).map(\.event)
    }

    @Test("has what befell its sessions, the newest first")
    func life() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        _ = try await house.authority.extend(
            live.session, by: .seconds(86_400), shortens: true, by: ada)
        _ = try await house.authority.update(
            live.session, with: SessionDraft(installation: nil, custom: ["a": .bool(true)]),
            by: ada)
        let up = BoardStatus(up: true, available: true, version: "1", since: house.clock.now)
        try await house.authority.note(up, of: board.installation)
        var down = up
        down.up = false
        try await house.authority.note(down, of: board.installation)
        try await house.authority.note(down, of: board.installation)
        try await house.authority.revoke(live.session, by: ada)
        #expect(try await events(of: board, in: house, by: ada) == [
            .revoked, .offline, .online, .updated, .extended, .accepted, .made,
        ])
        let entries = try await house.authority.timeline(of: board.installation, by: ada)
        #expect(entries.allSatisfy { $0.session == live.session })
        // Another person's claim, and the board's own end.
        try await house.authority.release(board.installation, by: ada)
        let bob = try await house.addUser("bob")
        await #expect(throws: AuthorityError.refused(Refusal(.notFound, "no such board"))) {
            try await house.authority.timeline(of: board.installation, by: bob)
        }
    }

    @Test("is of one owner: the next sees nothing of what was before")
    func nextOwner() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: ada)
        try await house.authority.release(board.installation, by: ada)
        house.clock.advance(.seconds(60))
        let next = try BoardDouble(installation: board.installation)
        let live = try await house.provisioned(next, by: bob)
        let entries = try await house.authority.timeline(of: board.installation, by: bob)
        #expect(entries.map(\.event) == [.accepted, .made])
        #expect(entries.allSatisfy { $0.session == live.session })
        let seen = try #require(try await house.authority.boards(by: bob, everyone: false).first)
        #expect(seen.ownedSince == house.clock.now)
    }

    @Test("counts what happens again and again in one entry, and stays bounded")
    func bounded() async throws {
        let house = try await House()
        let board = try BoardDouble().installation
        let session = try #require(ObjectID("sEsS000001"))
        let start = house.clock.now
        try await house.store.transact { transaction throws(AuthorityError) in
            for number in 0..<1000 {
                try transaction.append(
                    TimelineEntry(
                        event: .refreshed, session: session, at: start + .seconds(number),
                        detail: "\(number)"),
                    to: board)
            }
        }
        let entries = try await house.timeline(of: board)
        #expect(entries == [
            TimelineEntry(
                event: .refreshed, session: session, at: start, until: start + .seconds(999),
                count: 1000, detail: "999")
        ])
        try await house.store.transact { transaction throws(AuthorityError) in
            for number in 0..<500 {
                try transaction.append(
                    TimelineEntry(
                        event: number % 2 == 0 ? .online : .offline, session: nil,
                        at: start + .seconds(number)),
                    to: board)
            }
        }
        let flapping = try await house.timeline(of: board)
        #expect(flapping.count == 200)
        #expect(flapping.first?.at == start + .seconds(499))
    }

    @Test("has one entry for all refreshes, which cost one statement more")
    func refreshes() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        var token = live.provision.tokens.refresh
        for _ in 0..<3 {
            house.clock.advance(.seconds(60))
            token = try #require(try await live.ask(.refresh(token)).result?.refreshToken)
        }
        let first = try #require(
            try await house.authority.timeline(of: board.installation, by: ada).first)
        #expect(first.event == .refreshed && first.count == 3)
        #expect(first.until - first.at == .seconds(120))
    }

    @Test("counts refused writes from one status to the next", arguments: [
        (nil, 7, 0), (3, 7, 4), (7, 7, 0), (7, 2, 2), (7, 0, 0), (0, 5, 5), (3, nil, 0),
        (0, Int64.max, Int64.max),
    ] as [(Int64?, Int64?, Int64)])
    func refusals(earlier: Int64?, later: Int64?, more: Int64) {
        func status(_ refused: Int64?) -> BoardStatus {
            BoardStatus(
                up: true, available: true, version: "1", since: Timestamp(milliseconds: 0),
                refused: refused)
        }
        #expect(status(later).refused(since: status(earlier)) == more)
        #expect(status(later).refused(since: nil) == 0)
    }

    @Test("goes with the session's record")
    func deleted() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        try await house.authority.revoke(live.session, by: ada)
        #expect(try await house.timeline(of: board.installation).count == 3)
        house.clock.advance(.seconds(100 * 86_400))
        while try await house.authority.sweep() {}
        house.clock.advance(.seconds(100 * 86_400))
        while try await house.authority.sweep() {}
        #expect(try await house.timeline(of: board.installation).isEmpty)
    }

    @Test("is told apart from what else is asked of the audit log")
    func audit() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        var query = AuditQuery(limit: 100)
        query.event = "claim"
        let claims = try await house.authority.audit(query, by: ada)
        #expect(claims.map(\.event) == ["claim.accepted", "claim"])
        query.before = claims.first?.number
        #expect(try await house.authority.audit(query, by: ada).map(\.event) == ["claim"])
        query = AuditQuery(limit: 100)
        query.session = live.session
        #expect(try await house.authority.audit(query, by: ada).count == 2)
        query.actor = "ADA"
        #expect(try await house.authority.audit(query, by: ada).map(\.event) == ["claim"])
        query.event = "%"
        #expect(try await house.authority.audit(query, by: ada).isEmpty)
        query = AuditQuery(limit: 100)
        query.since = house.clock.now + .seconds(1)
        #expect(try await house.authority.audit(query, by: ada).isEmpty)
    }

    @Test("belongs to a board that can be renamed")
    func renamed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: ada)
        let name = try #require(BoardName("shed"))
        let view = try await house.authority.change(
            board.installation, BoardChange(name: name), by: ada)
        #expect(view.name == "shed")
        let detail = try await house.authority.board(board.installation, by: ada)
        #expect(detail.board.name == "shed" && detail.openClaim == nil)
        await #expect(throws: AuthorityError.refused(Refusal(.notFound, "no such board"))) {
            _ = try await house.authority.change(
                board.installation, BoardChange(name: name), by: bob)
        }
        for text in ["", "a\u{1b}b", String(repeating: "x", count: 65), "a\nb"] {
            #expect(BoardName(text) == nil)
        }
    }
}

extension House {
    fileprivate func timeline(of board: InstallationID) async throws -> [TimelineEntry] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.timeline(of: board)
        }
    }
}
