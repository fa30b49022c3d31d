import AuthorityStore
import Sessions
import Testing
import Wire

import AuthorityCore

@Suite("Sweep", .everyStore)
struct SweepTests {
    @Test("deletes an ended session 30 days after its end, and its secret stays used")
    func deleted() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let live = try await house.provisioned(board, by: ada)
        _ = try await live.ask(.refresh(live.provision.tokens.refresh))
        try await house.authority.revoke(live.session, by: ada)
        _ = try await live.say(.sessionEnded(re: .fresh(), session: live.session))
        let family = try #require(try await house.record(live.session)?.family)
        house.clock.advance(.seconds(30 * 86_400))
        #expect(try await house.authority.sweep() == false)
        #expect(try await house.record(live.session) != nil)
        house.clock.advance(.seconds(1))
        #expect(try await house.authority.sweep() == false)
        let left = try await house.store.read { tx throws(AuthorityError) in
            (try tx.session(live.session), try tx.family(family), try tx.claim(live.id))
        }
        #expect(left.0 == nil && left.1 == nil && left.2 == nil)
        let again = try await house.login()
        await expectRefusal(.forbidden) { try await house.claim(board, by: again) }
        #expect(try await house.claim(board.pairedAnew(), by: again).state == .sent)
    }

    @Test("keeps a session whose board has not taken leave, and one with an open claim")
    func kept() async throws {
        let house = try await House(
            lifetimes: LifetimePolicy(access: .seconds(60), absolute: nil, idle: nil))
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        house.clock.advance(.seconds(60))
        try await house.authority.revoke(live.session, by: ada)
        house.clock.advance(.seconds(29 * 86_400))
        #expect(try await house.authority.sweep() == false)
        #expect(try await house.record(live.session)?.endNotice != nil)
        let open = try await house.claim(BoardDouble(), by: ada)
        #expect(try await house.authority.sweep() == false)
        #expect(try await house.record(open.session)?.state == .pending)
    }

    @Test("takes many in bounded steps")
    func bounded() async throws {
        let house = try await House()
        let ada = try await house.login()
        for _ in 0..<201 { _ = try await house.device(by: ada) }
        house.clock.advance(.seconds(31 * 86_400))
        #expect(try await house.authority.sweep())
        #expect(try await house.authority.sweep() == false)
        house.clock.advance(.seconds(31 * 86_400))
        #expect(try await house.authority.sweep())
        #expect(try await house.authority.sweep() == false)
        let left = try await house.store.read { tx throws(AuthorityError) in
            try tx.sessions(of: nil, .current, .longest).count
        }
        #expect(left == 0)
    }

    @Test("forgets what the audit log has had for a year")
    func audit() async throws {
        let house = try await House()
        _ = try await house.login()
        #expect(try await house.audit("login").count == 1)
        house.clock.advance(.seconds(365 * 86_400))
        #expect(try await house.authority.sweep() == false)
        #expect(try await house.audit("login").count == 1)
        house.clock.advance(.seconds(1))
        #expect(try await house.authority.sweep() == false)
        #expect(try await house.audit("login").isEmpty)
    }

    @Test("leaves each board the newest 256 replies, and a lost successor is still answered")
    func replies() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let other = try await house.provisioned(BoardDouble(), by: ada)
        let early = try MessageID.fresh()
        let first = try await live.ask(.refresh(live.provision.tokens.refresh), id: early)
        let kept = try MessageID.fresh()
        _ = try await other.ask(.user(other.provision.tokens.session), id: kept)
        func found() async throws -> (early: Bool, kept: Bool) {
            try await house.store.read { tx throws(AuthorityError) in
                (try tx.reply(to: early, of: live.board.installation) != nil,
                 try tx.reply(to: kept, of: other.board.installation) != nil)
            }
        }
        func ask(_ count: Int) async throws {
            for _ in 0..<count {
                house.clock.advance(.milliseconds(1))
                _ = try await live.ask(.user(live.provision.tokens.session))
            }
        }
        try await ask(255)
        #expect(try await found() == (true, true))
        // One reply in 32 has the oldest give way, by chance.
        for _ in 0..<30 where try await found().early { try await ask(32) }
        #expect(try await found() == (false, true))
        let again = try await live.ask(.refresh(live.provision.tokens.refresh), id: early)
        let successor = try #require(first.result?.refreshToken)
        #expect(again.result?.refreshToken?.matches(successor) == true)
    }

    @Test("lets a refresh's reply go once its session is over")
    func lastReply() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let id = try MessageID.fresh()
        _ = try await live.ask(.refresh(live.provision.tokens.refresh), id: id)
        try await house.authority.revoke(live.session, by: ada)
        house.clock.advance(.seconds(601))
        #expect(try await house.authority.sweep() == false)
        let reply = try await house.store.read { tx throws(AuthorityError) in
            try tx.reply(to: id, of: live.board.installation)
        }
        #expect(reply == nil)
        #expect(
            try await live.ask(.refresh(live.provision.tokens.refresh), id: id).errorCode == 209)
    }
}
