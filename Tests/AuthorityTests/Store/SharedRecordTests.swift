import AuthorityStore
import Sessions
import Testing
import Wire

@testable import AuthorityCore

/// A house and others of its kind, each with a store of its own on the same records.
private struct Street {
    let house: House
    let authorities: [Authority]

    init(_ count: Int = 3) async throws {
        house = try await House()
        var all = [house.authority]
        for _ in 1..<count { all.append(try await house.replica()) }
        authorities = all
    }

    /// Each of `count` in turn.
    subscript(_ number: Int) -> Authority { authorities[number % authorities.count] }

    func provisioned() async throws -> LiveBoard {
        try await house.provisioned(BoardDouble(), by: house.login())
    }

    /// Does `body` so often at once, and returns what came of it in no order.
    func atOnce<R: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int, Authority) async throws -> R
    ) async -> [Result<R, any Error>] {
        await withTaskGroup(of: Result<R, any Error>.self) { group in
            for number in 0..<count {
                let authority = self[number]
                group.addTask {
                    do { return .success(try await body(number, authority)) } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

extension House {
    /// Another authority with a store of its own on the same records.
    func replica(at time: Timestamp? = nil) async throws -> Authority {
        let clock = clock
        return Authority(
            store: try await place.open(), cryptography: QuickPasswords(),
            worker: NotingWorker(), keys: keys, rules: authority.rules,
            clock: { time ?? clock.now })
    }
}

@Suite("Several authorities on one store", .everyStore)
struct SharedRecordTests {
    @Test("give fifty redeliveries of one refresh the one successor")
    func redeliveries() async throws {
        let street = try await Street()
        let live = try await street.provisioned()
        let payload = try live.payload(.refresh(live.provision.tokens.refresh))
        let answers = await street.atOnce(50) { _, authority in
            try await authority.handle(payload, from: live.board.installation)
        }
        let replies = Set(answers.compactMap { answer -> [UInt8]? in
            if case .success(.reply(let payload)) = answer { payload } else { nil }
        })
        #expect(answers.allSatisfy { (try? $0.get()) != nil })
        #expect(replies.count == 1)
        let reply = try live.reply(in: .reply(try #require(replies.first)))
        let successor = try #require(reply.result?.refreshToken)
        #expect(try await live.ask(.refresh(successor)).result != nil)
        #expect(try await street.house.audit("session.reuse").isEmpty)
    }

    @Test("let one of fifty refreshes win, and take the others for one theft")
    func refreshes() async throws {
        let street = try await Street()
        let live = try await street.provisioned()
        let answers = await street.atOnce(50) { _, authority in
            try live.reply(in: await authority.handle(
                live.payload(.refresh(live.provision.tokens.refresh)),
                from: live.board.installation))
        }
        let replies = try answers.map { try $0.get() }
        #expect(replies.compactMap { $0.result?.refreshToken }.count == 1)
        #expect(replies.filter { $0.errorCode == 209 }.count == 49)
        #expect(try await street.house.audit("session.reuse").count == 1)
        #expect(try await street.house.record(live.session)?.state == .ended)
    }

    @Test("leave no token that is good where one revokes and another refreshes",
          arguments: 0..<5)
    func revocation(round: Int) async throws {
        let street = try await Street()
        let live = try await street.provisioned()
        let ada = try await street.house.login()
        let answers = await street.atOnce(12) { number, authority -> Reply? in
            if number == 2 * round {
                try await authority.revoke(live.session, by: ada)
                return nil
            }
            let body: BoardMessage.Body = number == 2 * round + 1
                ? .refresh(live.provision.tokens.refresh)
                : .authenticate(live.provision.tokens.session, durationMinutes: nil)
            return try live.reply(in: await authority.handle(
                live.payload(body), from: live.board.installation))
        }
        let replies = try answers.map { try $0.get() }
        #expect(try await street.house.record(live.session)?.state == .ended)
        for token in replies.compactMap({ $0?.result?.refreshToken })
            + [live.provision.tokens.refresh]
        {
            #expect(try await live.ask(.refresh(token)).errorCode == 209)
        }
        #expect(try await live.authenticate().errorCode == 209)
    }

    @Test("open one of twenty claims of one board")
    func claims() async throws {
        let street = try await Street()
        let callers = try await [street.house.login(), street.house.addUser("bob")]
        let board = try BoardDouble()
        let claims = await street.atOnce(20) { number, authority in
            try await authority.claim(
                ClaimOrder(url: board.url(), duration: nil, scope: nil), by: callers[number % 2])
        }
        let won = claims.compactMap { try? $0.get() }
        #expect(won.count == 1 && won.first?.state == .sent)
        for case .failure(let error) in claims {
            guard case AuthorityError.refused = error else {
                Issue.record("\(error)")
                continue
            }
        }
        let sessions = try await street.house.store.read { tx throws(AuthorityError) in
            try tx.sessions(of: nil, .current, .longest)
                .filter { $0.session.installationID == board.installation }
        }
        #expect(sessions.count == 1)
    }

    @Test("end a session or refresh it where some sweep and others refresh, and never both",
          arguments: 0..<3)
    func sweep(round: Int) async throws {
        let street = try await Street()
        let live = try await street.provisioned()
        // To one its time has come, to the others not quite.
        let late = street.house.clock.now + .seconds(5 * 86_400 + 1)
        street.house.clock.advance(.seconds(5 * 86_400 - 10))
        let sweeper = try await street.house.replica(at: late)
        let payload = try live.payload(.refresh(live.provision.tokens.refresh))
        let answers = await street.atOnce(9) { number, authority -> Reply? in
            if number % 3 == round {
                _ = try await sweeper.sweep()
                return nil
            }
            return try live.reply(in: await authority.handle(
                payload, from: live.board.installation))
        }
        let replies = try answers.map { try $0.get() }.compactMap { $0 }
        let tokens = replies.compactMap { $0.result?.refreshToken }
        let record = try #require(try await street.house.record(live.session))
        #expect(try await street.house.audit("session.reuse").isEmpty)
        if record.state == .ended {
            #expect(tokens.isEmpty && replies.allSatisfy { $0.errorCode == 209 })
            #expect(try await live.authenticate().errorCode == 209)
        } else {
            #expect(tokens.count == replies.count)
            #expect(try await live.ask(.refresh(try #require(tokens.first))).result != nil)
        }
    }

    @Test("keep a person's logins within their number, and fail none for another's sake")
    func logins() async throws {
        let street = try await Street()
        let password = street.house.password
        let opened = await street.atOnce(40) { number, authority in
            try await authority.login(LoginAttempt(
                username: "ada", password: password, origin: "x\(number)"))
        }
        #expect(opened.allSatisfy { (try? $0.get()) != nil })
        let ada = try await street.house.login()
        let live = try await street.house.store.read { tx throws(AuthorityError) in
            try tx.ownSessions(of: ada.user.objectID).count
        }
        #expect(live == 32)
    }

    @Test("count the failures of one name together")
    func failures() async throws {
        let street = try await Street()
        let outcomes = await street.atOnce(24) { _, authority -> Int in
            do {
                _ = try await authority.login(LoginAttempt(
                    username: "ada", password: SecretBytes("wrong password"), origin: "x"))
                return 0
            } catch AuthorityError.refused(let refusal) {
                return refusal.code
            }
        }
        let codes = try outcomes.map { try $0.get() }
        #expect(codes.filter { $0 == 101 }.count == 10)
        #expect(codes.filter { $0 == 155 }.count == 14)
    }

    @Test("number what one board is sent without a gap or a number given twice")
    func sequences() async throws {
        let street = try await Street()
        let board = try BoardDouble().installation
        let key = try #require(KeyID("k"))
        let numbers = await street.atOnce(60) { _, authority in
            try await authority.store.transact { tx throws(AuthorityError) in
                try tx.nextSequence(
                    sealKey: key, board: board, at: Timestamp(milliseconds: 1))
            }
        }
        #expect(try numbers.map { try $0.get() }.sorted() == Array(1...60))
    }

    @Test("miss nothing of what the others write, in whatever order that is committed")
    func news() async throws {
        let street = try await Street()
        let reader = street.authorities[0]
        let start = try await reader.newsMark()
        let writers = Task { [street] in
            await street.atOnce(60) { number, authority in
                try await authority.alarm("replica", "\(number)")
            }
        }
        var mark = start
        var heard: [String] = []
        try await untilTrue {
            let news = try await reader.news(since: mark)
            mark = news.mark
            heard += news.entries.filter { $0.event == "alarm.replica" }.map(\.detail)
            return heard.count >= 60
        }
        #expect(await writers.value.allSatisfy { (try? $0.get()) != nil })
        #expect(Set(heard).count == 60 && heard.count == 60)
    }
}
