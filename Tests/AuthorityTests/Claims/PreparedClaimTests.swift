import AuthorityCore
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("Prepared claims", .everyStore)
struct PreparedClaimTests {
    private func door(_ house: House) -> StoreAccessCheck {
        StoreAccessCheck(authority: house.authority, own: [])
    }

    @Test("become boards of the user who prepared them, with name, labels, scope and end")
    func accepted() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let label = try #require(BoardLabel("barn"))
        let scope = ScopeDocument(unchecked: .object(["default": .string("deny")]))
        let made = try await house.authority.prepareClaims(
            PreparedClaimOrder(
                count: 2, name: try #require(PreparedName("barn-{n}")), scope: scope,
                duration: .seconds(86_400), labels: [label]),
            by: bob)
        #expect(made.map(\.file.name) == ["barn-1", "barn-2"])
        #expect(made.map(\.claim.state) == [.prepared, .prepared])
        let (file, board) = (made[0].file, try BoardDouble())
        #expect(try await house.join(file, board) == .silent)
        let asking = try await house.prepared(file)
        #expect(asking.state == .asking)
        #expect(asking.board?.installation == board.installation)
        #expect(asking.board?.name == "raspberrypi")
        // The board is nobody's yet.
        #expect(try await house.authority.boards(by: bob, everyone: false).isEmpty)
        #expect(try await house.retained(board) == nil)
        let claim = try await house.authority.acceptPreparedClaim(file.id, by: bob)
        #expect(claim.board == board.installation)
        let live = try await house.takeProvision(board)
        #expect(live.provision.session.user == bob.user.objectID)
        #expect(live.provision.scope == scope)
        #expect(live.provision.session.expiresAt == house.clock.now + .seconds(86_400))
        let found = try await house.authority.board(board.installation, by: bob).board
        #expect(found.name == "barn-1")
        #expect(found.labels == [label])
        #expect(try await house.prepared(file).state == .accepted)
        #expect(try await house.prepared(made[1].file).state == .prepared)
    }

    @Test("accepted by an administrator are still of the user who prepared them")
    func administrator() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let (file, board) = (try await house.prepare(by: bob), try BoardDouble())
        try await house.join(file, board)
        _ = try await house.authority.acceptPreparedClaim(file.id, by: ada)
        let live = try await house.takeProvision(board)
        #expect(live.provision.session.user == bob.user.objectID)
        #expect(try await house.authority.boards(by: ada, everyone: false).isEmpty)
        #expect(try await house.audit("prepared-claim.accepted").map(\.actor) == ["ada"])
    }

    @Test("are seen, accepted and ended by their user and administrators alone")
    func ownership() async throws {
        let house = try await House()
        let (bob, eve) = (try await house.addUser("bob"), try await house.addUser("eve"))
        let file = try await house.prepare(by: bob)
        try await house.join(file, BoardDouble())
        #expect(try await house.authority.preparedClaims(by: eve).isEmpty)
        await expectRefusal(.notFound) {
            try await house.authority.acceptPreparedClaim(file.id, by: eve)
        }
        await expectRefusal(.notFound) {
            _ = try await house.authority.endPreparedClaim(file.id, by: eve)
        }
        let guest = try await house.addUser("guest", mayClaim: false)
        await expectRefusal(.forbidden) {
            try await house.authority.prepareClaims(PreparedClaimOrder(), by: guest)
        }
        let device = try await house.device(by: bob)
        await expectRefusal(.forbidden) {
            try await house.authority.prepareClaims(PreparedClaimOrder(), by: device.caller)
        }
        #expect(try await house.prepared(file).state == .asking)
    }

    @Test("of one user leave room in an administrator's list for those of others")
    func share() async throws {
        let house = try await House()
        let (bob, eve) = (try await house.addUser("bob"), try await house.addUser("eve"))
        let many = try await house.prepare(by: eve)
        let few = try await house.prepare(by: bob)
        for _ in 0..<4 {
            house.clock.advance(.seconds(1))
            let file = try await house.prepare(by: eve)
            try await house.join(file, BoardDouble())
        }
        let found = try await house.store.read { transaction throws(AuthorityError) in
            try (3...6).map { limit throws(AuthorityError) in
                try transaction.preparedClaims(of: nil, limit: limit)
            }
        }
        for list in found {
            // In order: those that ask first.
            #expect(list.last.map { [many.id, few.id].contains($0.id) } == true)
            #expect(list.contains { $0.id == few.id })
        }
        #expect(found.map(\.count) == [3, 4, 5, 6])
        #expect(found[0].map(\.state) == [.asking, .asking, .prepared])
    }

    @Test("give a login that may ask to join, and nothing else")
    func role() async throws {
        let house = try await House()
        let file = try await house.prepare(by: house.login())
        let password = try SystemCryptography().claimKeys(secret: file.secret, board: file.id)
            .brokerPassword
        let account = try #require(try await door(house).account(named: "\(file.id)"))
        #expect(account.admits(password, clientID: "postern-\(file.id)"))
        #expect(!account.admits(password, clientID: "postern-other"))
        #expect(account.role == BrokerRole(prepared: file.id, root: .standard))
        let own = "postern/v1/\(file.id)"
        #expect(account.role.permits(.publish(topic: "\(own)/outbox")))
        let other = try await house.prepare(by: house.login())
        for topic in [
            "\(own)/status", "\(own)/inbox", "\(own)/data/Reading/create", "\(own)/outbox/x",
            "postern/v1/\(other.id)/outbox", "$CONTROL/dynamic-security/v1", "#",
        ] {
            #expect(!account.role.permits(.publish(topic: topic)), "\(topic)")
            #expect(!account.role.permits(.subscribe(filter: topic)), "\(topic)")
            #expect(!account.role.permits(.receive(topic: topic)), "\(topic)")
        }
        #expect(!account.role.permits(.subscribe(filter: "\(own)/outbox")))
        let everyone = try await house.authority.everyLogin()
        #expect(everyone.boards.contains(file.id))
    }

    @Test("have no login after their end, and their files open nothing", arguments: [true, false])
    func late(isEnded: Bool) async throws {
        let house = try await House()
        let ada = try await house.login()
        let file = try await house.prepare(
            by: ada, PreparedClaimOrder(life: .seconds(3600)))
        if isEnded {
            _ = try await house.authority.endPreparedClaim(file.id, by: ada)
        } else {
            house.clock.advance(.seconds(3600))
        }
        #expect(try await door(house).account(named: "\(file.id)") == nil)
        let desired = try await house.authority.desiredState(for: file.id)
        #expect(desired.login == nil && desired.isPrepared)
        #expect(try await house.join(file, BoardDouble()) == .dropped(.unopened))
        while try await house.authority.sweep() {}
        #expect(try await house.authority.everyLogin().boards.isEmpty)
        #expect(try await house.join(file, BoardDouble()) == .dropped(.unopened))
        await expectRefusal(.forbidden) {
            try await house.authority.acceptPreparedClaim(file.id, by: house.login())
        }
        let again = try await house.login()
        let states = try await house.authority.preparedClaims(by: again).map(\.state)
        #expect(states == (isEnded ? [] : [.expired]))
        house.clock.advance(.seconds(31 * 86_400))
        while try await house.authority.sweep() {}
        #expect(try await house.join(file, BoardDouble()) == .dropped(.unknownBoard))
    }

    @Test("of a board that asks are void with their time, too")
    func lateAcceptance() async throws {
        let house = try await House()
        let file = try await house.prepare(
            by: house.login(), PreparedClaimOrder(life: .seconds(3600)))
        try await house.join(file, BoardDouble())
        house.clock.advance(.seconds(3600))
        await expectRefusal(.forbidden) {
            try await house.authority.acceptPreparedClaim(file.id, by: house.login())
        }
    }

    @Test("end with an open claim, but not with a session")
    func end() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (open, taken) = (try await house.prepare(by: ada), try await house.prepare(by: ada))
        let (waiting, live) = (try BoardDouble(), try BoardDouble())
        for (file, board) in [(open, waiting), (taken, live)] {
            try await house.join(file, board)
            _ = try await house.authority.acceptPreparedClaim(file.id, by: ada)
        }
        let session = try await house.takeProvision(live)
        for file in [open, taken] {
            _ = try await house.authority.endPreparedClaim(file.id, by: ada)
        }
        #expect(try await house.retained(waiting) == nil)
        #expect(try await session.authenticate().result != nil)
        #expect(try await house.authority.preparedClaims(by: ada).isEmpty)
    }

    @Test("end when their user may not claim any more", arguments: [true, false])
    func rights(isDisabled: Bool) async throws {
        let house = try await House()
        let ada = try await house.login()
        let file = try await house.prepare(by: house.addUser("bob"))
        try await house.join(file, BoardDouble())
        _ = try await house.authority.change(
            "bob", isDisabled ? UserChange(isEnabled: false) : UserChange(mayClaim: false),
            by: ada)
        #expect(try await house.authority.preparedClaims(by: ada).isEmpty)
        #expect(try await door(house).account(named: "\(file.id)") == nil)
        await expectRefusal(.forbidden) {
            try await house.authority.acceptPreparedClaim(file.id, by: ada)
        }
    }

    @Test("are refused where the authority manages no logins")
    func noLogins() async throws {
        let house = try await House(managesBrokerAccess: false)
        await expectRefusal(.validation) {
            try await house.authority.prepareClaims(PreparedClaimOrder(), by: house.login())
        }
    }

    @Test("have limits")
    func limits() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        func refused(_ code: ErrorCode, _ order: PreparedClaimOrder) async {
            await expectRefusal(code) {
                try await house.authority.prepareClaims(order, by: bob)
            }
        }
        await refused(.validation, PreparedClaimOrder(count: 0))
        await refused(.validation, PreparedClaimOrder(count: 101))
        let plain = try #require(PreparedName("barn"))
        await refused(.validation, PreparedClaimOrder(count: 2, name: plain))
        await refused(.validation, PreparedClaimOrder(life: .seconds(3599)))
        await refused(.validation, PreparedClaimOrder(life: .seconds(365 * 86_400 + 1)))
        await refused(.validation, PreparedClaimOrder(duration: .seconds(1)))
        await refused(.validation, PreparedClaimOrder(ca: "no certificate"))
        await refused(.tooLarge, PreparedClaimOrder(ca: String(repeating: "x", count: 13_000)))
        let topics = ScopeDocument(unchecked: .object(["topics": .array([.string("a/b")])]))
        await refused(.forbidden, PreparedClaimOrder(scope: topics))
        for _ in 0..<10 {
            _ = try await house.authority.prepareClaims(PreparedClaimOrder(count: 100), by: bob)
        }
        await refused(.quota, PreparedClaimOrder())
        #expect(try await house.authority.preparedClaims(by: bob).count == 1000)
        let first = try #require(try await house.authority.preparedClaims(by: bob).first)
        _ = try await house.authority.endPreparedClaim(first.id, by: bob)
        _ = try await house.prepare(by: bob)
    }

    @Test("name their boards", arguments: [
        ("barn-{n}", "barn-7"), ("{n}", "7"), ("{n} east", "7 east"), ("barn", "barn"),
    ])
    func names(text: String, name: String) throws {
        let parsed = try #require(PreparedName(text))
        #expect(parsed.description == text)
        #expect(parsed.name(of: 7) == name)
    }

    @Test("have no name that is none", arguments: [
        "", " ", "{n}{n}", "a\u{202E}", "a\n", String(repeating: "a", count: 62) + "{n}",
    ])
    func noNames(text: String) { #expect(PreparedName(text) == nil) }
}
