import AuthorityStore
import Cryptography
import Sessions
import Testing
import Wire

@testable import AuthorityCore

extension House {
    func openCode(
        _ board: BoardDouble, from origin: String = "192.0.2.7"
    ) async throws -> OpenClaimCode {
        let url = board.url()
        let order = try #require(ClaimCodeOrder(
            installation: url.installation, deviceKey: url.deviceKey, name: url.name,
            origin: origin))
        return try await authority.openClaimCode(order)
    }

    func show(
        _ code: UserCode, by caller: Caller, from origin: String = "test"
    ) async throws -> ClaimCodeView {
        try await authority.claimCode(TypedCode(code, origin: origin), by: caller)
    }

    @discardableResult
    func name(
        _ code: UserCode, by caller: Caller, duration: Duration? = nil,
        scope: ScopeDocument? = nil, custom: [String: JSONValue] = [:]
    ) async throws -> ClaimCodeView {
        try await authority.nameClaimCode(
            TypedCode(code, origin: "test"),
            ClaimTerms(duration: duration, scope: scope, custom: custom), by: caller)
    }

    func progress(_ code: UserCode, by caller: Caller) async throws -> ClaimCodeProgress {
        try await authority.claimCodeProgress(TypedCode(code, origin: "test"), by: caller)
    }
}

@Suite("Short codes of boards", .everyStore)
struct ClaimCodeTests {
    @Test("lead to an ordinary claim, once the board confirms the person")
    func claimed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let opened = try await house.openCode(board)
        #expect(opened.life == .seconds(600) && opened.interval == .seconds(2))
        #expect(try await house.authority.claimCodeState(opened.secret) == .waiting)

        let digest = try SHA256.digest(board.url().deviceKey)
        let view = ClaimCodeView(
            code: opened.code, installation: board.installation, boardName: "greenhouse",
            fingerprint: try #require(BoardFingerprint(digest: digest)),
            endsAt: house.clock.now + .seconds(600))
        #expect(try await house.show(opened.code, by: ada) == view)
        #expect(try await house.progress(opened.code, by: ada) == .waiting)
        let scope = ScopeDocument(unchecked: .object(["default": .string("deny")]))
        let named = try await house.name(
            opened.code, by: ada, duration: .seconds(86_400), scope: scope,
            custom: ["name": .string("shed")])
        #expect(named == view)
        #expect(try await house.progress(opened.code, by: ada) == .named)
        // The code alone has made nothing for the board yet.
        #expect(try await house.retained(board) == nil)
        #expect(try await house.authority.openClaims(by: ada, everyone: true).isEmpty)
        #expect(try await house.authority.claimCodeState(opened.secret)
            == .named(username: "ada", authority: "Home"))

        let claim = try await house.authority.confirmClaimCode(opened.secret, board.secret)
        #expect(try await house.authority.claimCodeState(opened.secret) == .claimed)
        guard case .claimed(let found) = try await house.progress(opened.code, by: ada) else {
            Issue.record("the code is not claimed")
            return
        }
        #expect(found.id == claim.id && found.state == .sent)
        let (id, provision) = try board.openProvision(#require(try await house.retained(board)))
        #expect(id == claim.id)
        #expect(provision.session.user == ada.user.objectID)
        #expect(provision.session.custom == ["name": .string("shed")])
        #expect(provision.session.expiresAt
            == Timestamp(seconds: house.clock.now.seconds).map { $0 + .seconds(86_400) })
        #expect(provision.scope != nil)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        #expect(
            try await live.say(.provisionAccepted(re: id, session: live.session)) == .silent)
        #expect(try await house.authority.claim(id, by: ada).state == .accepted)
        #expect(try await house.audit("claim.code-named").map(\.detail)
            == ["greenhouse from 192.0.2.7"])
    }

    @Test("serve once")
    func once() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let opened = try await house.openCode(board)
        try await house.name(opened.code, by: ada)
        let other = house.reconfigured(lifetimes: .consumer)
        let claims = await withTaskGroup(
            of: MessageID?.self, returning: [MessageID?].self
        ) { group in
            for authority in [house.authority, other, house.authority, other] {
                group.addTask {
                    try? await authority.confirmClaimCode(opened.secret, board.secret).id
                }
            }
            return await group.reduce(into: [MessageID?]()) { $0.append($1) }
        }
        // An answer that was lost comes again; there is one claim.
        #expect(claims.count == 4 && Set(claims).count == 1 && claims[0] != nil)
        #expect(try await house.audit("claim").count == 1)
        // What comes too late does not take the claim back.
        try await house.authority.refuseClaimCode(opened.secret)
        #expect(try await house.authority.claimCodeState(opened.secret) == .claimed)
        await expectRefusal(.notFound) { try await house.show(opened.code, by: ada) }
        await expectRefusal(.notFound) { try await house.name(opened.code, by: ada) }
    }

    @Test("belong to the person who typed them first")
    func first() async throws {
        let house = try await House()
        let ada = try await house.login()
        let eve = try await house.addUser("eve")
        let opened = try await house.openCode(try BoardDouble())
        _ = try await house.show(opened.code, by: ada)
        try await house.name(opened.code, by: eve)
        await expectRefusal(.notFound) { try await house.show(opened.code, by: ada) }
        await expectRefusal(.notFound) { try await house.name(opened.code, by: ada) }
        await expectRefusal(.notFound) { try await house.progress(opened.code, by: ada) }
        #expect(try await house.authority.claimCodeState(opened.secret)
            == .named(username: "eve", authority: "Home"))
        // That person may choose again until the board answers. Only the first time is noted.
        for _ in 0..<2 { try await house.name(opened.code, by: eve, duration: .seconds(3600)) }
        let hash = try house.authority.hash(of: opened.secret)
        let kept = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.claimCode(deviceHash: hash)
        }
        #expect(kept?.duration == .seconds(3600))
        #expect(try await house.audit("claim.code-named").count == 1)
        #expect(try await house.audit("claim.code-wrong").count == 3)
    }

    @Test("claim nothing where the broker does not get the claim, and say so when asked again")
    func brokerAway() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        let opened = try await house.openCode(board)
        try await house.name(opened.code, by: ada)
        house.worker.fail(true)
        await #expect(throws: AuthorityError.failed(layer: "MQTT", text: "down")) {
            try await house.authority.confirmClaimCode(opened.secret, board.secret)
        }
        house.worker.fail(false)
        for _ in 0..<2 {
            #expect(try await refusalName {
                try await house.authority.confirmClaimCode(opened.secret, board.secret)
            } == .accessDenied)
        }
        #expect(try await house.progress(opened.code, by: ada) == .refused)
        #expect(try await house.retained(board) == nil)
        // The board's next secret is claimed as ever.
        _ = try await house.claim(board.pairedAnew(), by: ada)
    }

    @Test("leave an open renewal until the board says yes")
    func renewal() async throws {
        let house = try await House(lifetimes: .consumer)
        let live = try await house.provisioned(BoardDouble(), by: try await house.login())
        house.clock.advance(.seconds(30 * 86_400))
        while try await house.authority.sweep() {}
        let ada = try await house.login()
        let renewal = try await house.authority.renew(live.board.installation, nil, by: ada)
        let again = try live.board.pairedAnew()
        let opened = try await house.openCode(again)
        try await house.name(opened.code, by: ada)
        #expect(try await house.authority.claim(renewal.id, by: ada).state == .sent)
        _ = try await house.authority.confirmClaimCode(opened.secret, again.secret)
        #expect(try await house.authority.claim(renewal.id, by: ada).state == .cancelled)
    }

    @Test("give nothing to a person after the board said no")
    func refused() async throws {
        let house = try await House()
        let eve = try await house.addUser("eve")
        let board = try BoardDouble()
        let opened = try await house.openCode(board)
        try await house.name(opened.code, by: eve)
        try await house.authority.refuseClaimCode(opened.secret)
        #expect(try await house.progress(opened.code, by: eve) == .refused)
        await expectRefusal(.notFound) { try await house.name(opened.code, by: eve) }
        try await house.authority.refuseClaimCode(opened.secret)
        for _ in 0..<2 {
            #expect(try await refusalName {
                try await house.authority.confirmClaimCode(opened.secret, board.secret)
            } == .accessDenied)
        }
        #expect(try await refusalName {
            try await house.authority.claimCodeState(opened.secret)
        } == .accessDenied)
        #expect(try await house.retained(board) == nil)
        #expect(try await house.audit("claim.code-refused").map(\.board) == [board.installation])
        // The board's owner claims it with its URL, as ever.
        _ = try await house.claim(board, by: try await house.login())
    }

    @Test("cannot be confirmed before anybody typed them")
    func early() async throws {
        let house = try await House()
        let board = try BoardDouble()
        let opened = try await house.openCode(board)
        #expect(try await refusalName {
            try await house.authority.confirmClaimCode(opened.secret, board.secret)
        } == .authorizationPending)
        #expect(try await house.authority.claimCodeState(opened.secret) == .waiting)
        #expect(try await refusalName {
            try await house.authority.confirmClaimCode(
                DeviceCode(random: [UInt8](repeating: 1, count: 32)), board.secret)
        } == .expiredToken)
    }

    @Test("are over after ten minutes, named or not, and are swept", arguments: [true, false])
    func expired(isNamed: Bool) async throws {
        let house = try await House()
        let board = try BoardDouble()
        let opened = try await house.openCode(board)
        house.clock.advance(.seconds(599))
        let ada = try await house.login()
        if isNamed { try await house.name(opened.code, by: ada) }
        house.clock.advance(.seconds(1))
        #expect(try await refusalName {
            try await house.authority.claimCodeState(opened.secret)
        } == .expiredToken)
        #expect(try await refusalName {
            try await house.authority.confirmClaimCode(opened.secret, board.secret)
        } == .expiredToken)
        await expectRefusal(.notFound) { try await house.name(opened.code, by: ada) }
        await expectRefusal(.notFound) { try await house.progress(opened.code, by: ada) }
        house.clock.advance(.seconds(1))
        _ = try await house.authority.sweep()
        let hash = try house.authority.hash(of: opened.secret)
        let kept = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.claimCode(deviceHash: hash)
        }
        #expect(kept == nil)
    }

    @Test("end with the rights of the person who typed them", arguments: [
        "disabled", "may not claim", "the session", "logged out",
    ])
    func withdrawn(by act: String) async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let board = try BoardDouble()
        let opened = try await house.openCode(board)
        try await house.name(opened.code, by: bob)
        switch act {
        case "disabled": _ = try await house.authority.setEnabled(false, user: "bob", by: ada)
        case "may not claim":
            _ = try await house.authority.change("bob", UserChange(mayClaim: false), by: ada)
        case "the session": try await house.authority.revoke(bob.session.objectID, by: ada)
        default: try await house.authority.logout(bob)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.confirmClaimCode(opened.secret, board.secret)
        }
        #expect(try await house.retained(board) == nil)
        // Nobody else gets it after that.
        await expectRefusal(.notFound) { try await house.name(opened.code, by: ada) }
    }

    @Test("are not for people who may not claim, nor for sessions of devices")
    func others() async throws {
        let house = try await House()
        let opened = try await house.openCode(try BoardDouble())
        let eve = try await house.addUser("eve", mayClaim: false)
        let device = try await house.device(by: try await house.login()).caller
        for caller in [eve, device] {
            await expectRefusal(.forbidden) { try await house.show(opened.code, by: caller) }
            await expectRefusal(.forbidden) { try await house.name(opened.code, by: caller) }
            await expectRefusal(.forbidden) { try await house.progress(opened.code, by: caller) }
        }
        await expectRefusal(.forbidden) { try await house.show(opened.code, by: .master) }
    }

    @Test("take no board of another user, and no board with another key")
    func owned() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let eve = try await house.addUser("eve")
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: bob)
        let opened = try await house.openCode(board)
        #expect(try await refusalName { try await house.name(opened.code, by: eve) }
            == .boardOwned)
        let double = try await house.openCode(try BoardDouble(installation: board.installation))
        #expect(try await refusalName { try await house.name(double.code, by: bob) }
            == .boardHasAnotherKey)
        // The owner may: it is still the same board.
        try await house.name(opened.code, by: bob)
    }

    @Test("do not revive a used claim secret, and the person sees that it failed")
    func usedSecret() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.provisioned(board, by: ada)
        let opened = try await house.openCode(board)
        try await house.name(opened.code, by: ada)
        #expect(try await refusalName {
            try await house.authority.confirmClaimCode(opened.secret, board.secret)
        } == .claimUsed)
        #expect(try await house.progress(opened.code, by: ada) == .refused)
    }

    @Test("ask for what a claim may have")
    func terms() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let opened = try await house.openCode(try BoardDouble())
        let topics = ScopeDocument(unchecked: .object(["topics": .array([.string("x/#")])]))
        await expectRefusal(.validation) {
            try await house.name(opened.code, by: bob, duration: .seconds(60))
        }
        await expectRefusal(.badKeyName) {
            try await house.name(opened.code, by: bob, custom: ["__proto__": .null])
        }
        await #expect(throws: AuthorityError.self) {
            try await house.name(opened.code, by: bob, scope: topics)
        }
        #expect(try await house.authority.claimCodeState(opened.secret) == .waiting)
    }
}
