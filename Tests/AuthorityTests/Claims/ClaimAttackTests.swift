import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

/// What another user who may claim, and who knows an old claim URL, does to a board.
@Suite("Another user's claim", .everyStore)
struct ClaimAttackTests {
    /// Bob's board, Eve who may claim too, and a claim URL that was never used.
    private func fixture() async throws -> (
        house: House, bob: Caller, eve: Caller, live: LiveBoard, known: BoardDouble
    ) {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let eve = try await house.addUser("eve")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        return (house, bob, eve, live, try live.board.pairedAnew())
    }

    private func expectOwned(_ body: () async throws -> Claim) async {
        let found = await refusal(body)
        #expect(found?.is(.forbidden) == true && found?.name == .boardOwned)
    }

    @Test("on a board of somebody else is refused, and leaves nothing open")
    func holdingOpen() async throws {
        let (house, bob, eve, live, known) = try await fixture()
        let before = try await house.authority.desiredState(for: known.installation)
        await expectOwned { try await house.claim(known, by: eve) }
        let other = try BoardDouble(installation: known.installation)
        await expectOwned { try await house.claim(other, by: eve) }
        #expect(try await house.authority.board(known.installation, by: bob).openClaim == nil)
        #expect(try await house.authority.openClaims(by: eve, everyone: false).isEmpty)
        let after = try await house.authority.desiredState(for: known.installation)
        #expect(after.retained == nil && before.retained == nil)
        #expect(try await live.authenticate().result != nil)
    }

    @Test("does not lock the owner out, also where the board's session is over")
    func lockingOut() async throws {
        let (house, bob, eve, live, known) = try await fixture()
        await expectOwned { try await house.claim(known, by: eve) }
        try await house.authority.revoke(live.session, by: bob)
        await expectOwned { try await house.claim(known, by: eve) }
        _ = try await live.say(.sessionEnded(re: live.id, session: live.session))
        await expectOwned { try await house.claim(known, by: eve) }
        let again = try await house.provisioned(known, by: bob)
        #expect(try await again.authenticate().result?.user?.username == "bob")
    }

    @Test("does not replace the login over which a board is to hear of its revocation",
        arguments: [true, false])
    func silencingRevocation(isReleased: Bool) async throws {
        let (house, bob, eve, live, known) = try await fixture()
        let board = known.installation
        let login = try #require(try await house.authority.desiredState(for: board).login)
        // The board is away meanwhile.
        if isReleased {
            try await house.authority.release(board, by: bob)
            #expect(try await house.claim(known, by: eve).notes.count == 1)
        } else {
            try await house.authority.revoke(live.session, by: bob)
            await expectOwned { try await house.claim(known, by: eve) }
            // The owner's own claim does no more.
            #expect(try await house.claim(known, by: bob).notes.count == 1)
        }
        let during = try await house.authority.desiredState(for: board)
        #expect(during.login?.password.matches(login.password) == true)
        let (_, provision) = try known.openProvision(#require(during.retained?.payload))
        #expect(provision.broker?.password == nil)
        // It comes back, and asks: it hears that its session is over.
        #expect(try await live.authenticate().errorCode == 209)
        _ = try await live.say(.sessionEnded(re: live.id, session: live.session))
        let after = try await house.authority.desiredState(for: board)
        #expect(after.login?.password.matches(login.password) == true)
    }

    @Test("of a released board is as anyone's")
    func released() async throws {
        let (house, bob, eve, live, known) = try await fixture()
        try await house.authority.release(known.installation, by: bob)
        _ = try await live.say(.sessionEnded(re: live.id, session: live.session))
        let hers = try await house.provisioned(known, by: eve)
        #expect(try await hers.authenticate().result?.user?.username == "eve")
        await expectOwned { try await house.claim(known.pairedAnew(), by: bob) }
    }
}

@Suite("Open claims", .everyStore)
struct OpenClaimTests {
    @Test("of any user are seen and ended by the board's owner")
    func owner() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let eve = try await house.addUser("eve")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let claim = try await house.claim(live.board.pairedAnew(), by: ada)
        let first = try await house.claim(BoardDouble(), by: eve)

        let seen = try await house.authority.openClaims(by: bob, everyone: false)
        #expect(seen.map(\.claim.id) == [claim.id] && seen.map(\.claimant) == ["ada"])
        #expect(seen.map(\.boardName) == ["greenhouse"])
        #expect(try await house.authority.claim(claim.id, by: bob).state == .sent)
        let hers = try await house.authority.openClaims(by: eve, everyone: false)
        #expect(hers.map(\.claim.id) == [first.id])
        #expect(try await house.authority.openClaims(by: ada, everyone: true).count == 2)
        await expectRefusal(.forbidden) {
            try await house.authority.openClaims(by: bob, everyone: true)
        }

        await expectRefusal(.notFound) { try await house.authority.endClaim(claim.id, by: eve) }
        await expectRefusal(.notFound) { try await house.authority.claim(claim.id, by: eve) }
        try await house.authority.endClaim(claim.id, by: bob)
        #expect(try await house.authority.claim(claim.id, by: ada).state == .cancelled)
        #expect(try await house.authority.openClaims(by: bob, everyone: false).isEmpty)
        let desired = try await house.authority.desiredState(for: live.board.installation)
        #expect(desired.retained == nil)
        #expect(try await live.authenticate().result != nil)
        #expect(try await house.audit("claim.cancelled").map(\.actor) == ["bob"])
    }

    @Test("that expired are listed no more")
    func expired() async throws {
        let house = try await House()
        _ = try await house.claim(BoardDouble(), by: house.login())
        house.clock.advance(.seconds(86_401))
        let ada = try await house.login()
        #expect(try await house.authority.openClaims(by: ada, everyone: true).isEmpty)
    }

    @Test("give a login again once nobody waits for a board that has lost it")
    func forgotten() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let eve = try await house.addUser("eve")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let board = live.board.installation
        try await house.authority.revoke(live.session, by: bob)
        let again = try live.board.pairedAnew()
        let kept = try await house.claim(again, by: bob)
        await expectRefusal(.notFound) {
            try await house.authority.forgetRevocation(of: board, by: eve)
        }
        try await house.authority.forgetRevocation(of: board, by: bob)
        #expect(try await house.authority.desiredState(for: board).login == nil)
        #expect(try await house.authority.claim(kept.id, by: bob).state == .cancelled)
        #expect(try await house.audit("revocation.forgotten").count == 1)
        let new = try await house.provisioned(again, by: bob)
        #expect(new.provision.broker?.password != nil)
        #expect(try await new.authenticate().result != nil)
    }
}
