import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("A replaced board", .everyStore)
struct ReplacementTests {
    private func house() async throws -> (House, Caller, old: LiveBoard, new: LiveBoard) {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let old = try await house.provisioned(BoardDouble(), by: bob)
        return (house, bob, old, try await house.provisioned(BoardDouble(), by: bob))
    }

    private func replace(
        _ old: LiveBoard, by new: LiveBoard, for caller: Caller, lastArrived: Int64? = nil
    ) async throws -> ReplacedBoard {
        try await old.house.authority.replace(
            old.board.installation, by: new.board.installation, lastArrived: lastArrived,
            for: caller
        ).replaced
    }

    @Test("has no login, no session and no farewell")
    func cut() async throws {
        let (house, bob, old, new) = try await house()
        _ = try await replace(old, by: new, for: bob)
        let desired = try await house.authority.desiredState(for: old.board.installation)
        #expect(desired.login == nil && desired.retained == nil)
        #expect(try await old.authenticate().errorCode == 209)
        #expect(try await new.authenticate().errorCode == nil)
        let boards = try await house.authority.boards(by: bob, everyone: false)
        #expect(boards.map(\.installation) == [new.board.installation])
    }

    @Test("is never claimed again, by its id or by its key")
    func refused() async throws {
        let (house, bob, old, new) = try await house()
        _ = try await replace(old, by: new, for: bob)
        let other = try await house.addUser("eve")
        for board in [
            try old.board.pairedAnew(), try BoardDouble(key: old.board.key),
            try BoardDouble(installation: old.board.installation),
        ] {
            for caller in [bob, other] {
                await #expect(throws: AuthorityError.self) {
                    try await house.provisioned(board, by: caller)
                }
            }
        }
        // Also after the new board was released.
        try await house.authority.release(new.board.installation, by: bob)
        await #expect(throws: AuthorityError.self) {
            try await house.provisioned(try old.board.pairedAnew(), by: bob)
        }
    }

    @Test("tells by number what it still held")
    func lost() async throws {
        let (_, bob, old, new) = try await house()
        _ = try await old.tell(.sample(12))
        let replaced = try await replace(old, by: new, for: bob, lastArrived: 1041)
        #expect(replaced.lost == LostMessages(waited: 12, after: 1041))
        let story = try await old.house.authority.timeline(of: new.board.installation, by: bob)
        let took = try #require(story.first { $0.event == .tookPlace })
        #expect(took.detail.contains("numbers after 1041 did not arrive; 12 waited"))
    }

    @Test("needs a new board of the same owner with a session")
    func needs() async throws {
        let (house, bob, old, new) = try await house()
        let eve = try await house.addUser("eve")
        let hers = try await house.provisioned(BoardDouble(), by: eve)
        for (dead, fresh, caller) in [
            (old, old, bob), (old, hers, bob), (old, new, eve), (hers, new, bob),
        ] {
            await #expect(throws: AuthorityError.self) {
                try await replace(dead, by: fresh, for: caller)
            }
        }
        let ada = try await house.login()
        await #expect(throws: AuthorityError.self) { try await replace(old, by: hers, for: ada) }
        _ = try await house.authority.revoke(new.session, by: bob)
        await #expect(throws: AuthorityError.self) { try await replace(old, by: new, for: bob) }
        // Nothing was changed by the refusals.
        #expect(try await old.authenticate().errorCode == nil)
        #expect(try await hers.authenticate().errorCode == nil)
    }

    @Test("may have died with an expired session, and leaves its scope")
    func expired() async throws {
        let house = try await House(lifetimes: .consumer)
        let bob = try await house.addUser("bob")
        let scope = try ScopeDocument(written: Array(#"{"default":"deny"}"#.utf8))
        let old = try await house.provisioned(BoardDouble(), by: bob, scope: scope)
        house.clock.advance(.seconds(30 * 86_400))
        #expect(try await house.authority.sweep() == false)
        let caller = try await house.login("bob")
        let new = try await house.provisioned(BoardDouble(), by: caller)
        _ = try await replace(old, by: new, for: caller)
        let view = try await house.authority.session(new.session, by: caller)
        #expect(view.scope == scope && view.isScopePending)
        let desired = try await house.authority.desiredState(for: old.board.installation)
        #expect(desired.login == nil)
    }

    @Test("may have been signed out or revoked: its scope can only take rights then")
    func revoked() async throws {
        func document(_ text: String) throws -> ScopeDocument {
            try ScopeDocument(written: Array(text.utf8))
        }
        let narrow = try document(#"{"default":"deny"}"#)
        let everything = try document(#"{"default":"allow","rules":[]}"#)
        let topics = try document(#"{"default":"deny","topics":["barn/#"]}"#)
        let cases: [(old: ScopeDocument?, new: ScopeDocument?, after: ScopeDocument?)] = [
            (narrow, nil, narrow), (nil, narrow, narrow), (everything, narrow, narrow),
            (topics, nil, nil), (topics, narrow, narrow),
        ]
        for one in cases {
            let house = try await House()
            let ada = try await house.login()
            let old = try await house.provisioned(BoardDouble(), by: ada, scope: one.old)
            let new = try await house.provisioned(BoardDouble(), by: ada, scope: one.new)
            _ = try await house.authority.revoke(old.session, by: ada)
            _ = try await replace(old, by: new, for: ada)
            let view = try await house.authority.session(new.session, by: ada)
            #expect(view.scope == one.after)
        }
    }

    @Test("is never let in again by a prepared claim or a short code")
    func otherClaims() async throws {
        let (house, bob, old, new) = try await house()
        _ = try await replace(old, by: new, for: bob)
        for accepts in [false, true] {
            let file = try await house.prepare(
                by: bob, PreparedClaimOrder(acceptsAtOnce: accepts))
            let back = try old.board.pairedAnew()
            try await house.join(file, back)
            let asking = try await house.prepared(file)
            #expect(asking.state == .asking && asking.board?.isKnown == true)
            await #expect(throws: AuthorityError.self) {
                try await house.authority.acceptPreparedClaim(file.id, by: bob)
            }
            #expect(try await house.retained(back) == nil)
        }
        let code = try await house.openCode(try old.board.pairedAnew())
        await #expect(throws: AuthorityError.self) { try await house.name(code.code, by: bob) }
    }

    @Test("are at most sixteen for one board, also one after the other")
    func limit() async throws {
        let (house, bob, old, new) = try await house()
        _ = try await replace(old, by: new, for: bob)
        for _ in 1..<16 {
            let next = try await house.provisioned(BoardDouble(), by: bob)
            _ = try await replace(next, by: new, for: bob)
        }
        let last = try await house.provisioned(BoardDouble(), by: bob)
        await expectRefusal(.quota) { try await replace(last, by: new, for: bob) }
    }
}
