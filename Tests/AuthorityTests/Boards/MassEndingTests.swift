import Sessions
import Testing
import Wire

import AuthorityCore

@Suite("End of all of a user's sessions", .everyStore)
struct MassEndingTests {
    /// A user with two boards, a claim under way, two logins and a device.
    struct Household {
        let house: House
        let admin: Caller
        let bob: Caller
        let other: Caller
        let device: Caller
        let boards: [LiveBoard]
        let claim: Claim

        init() async throws {
            house = try await House()
            admin = try await house.login()
            bob = try await house.addUser("bob")
            other = try await house.login("bob")
            device = try await house.device(by: bob).caller
            boards = [
                try await house.provisioned(BoardDouble(), by: bob),
                try await house.provisioned(BoardDouble(), by: bob),
            ]
            claim = try await house.claim(BoardDouble(), by: bob)
            for live in boards { _ = try await house.settle(live.board) }
            _ = house.worker.woken()
        }

        var lines: Set<String> { Set(boards.map { $0.board.installation.description }) }

        func expectBoards(told: Bool) async throws {
            for live in boards {
                #expect(try await live.authenticate().errorCode == (told ? 209 : nil))
                let notice = try await house.retained(live.board)
                #expect((notice != nil) == told)
                guard let notice else { continue }
                guard case .revoked(_, live.session, "revoked") = try live.board.open(
                    notice, from: live.sealKey).body
                else { throw NotThat() }
            }
            let state = try await house.authority.claim(claim.id, by: admin).state
            #expect(state == (told ? .cancelled : .sent))
        }

        func state(_ caller: Caller) async throws -> SessionRecord.State? {
            try await house.record(caller.session.objectID)?.state
        }
    }

    @Test("by himself leaves the session that asks")
    func own() async throws {
        let all = try await Household()
        let count = try await all.house.authority.revokeAll(of: "BOB", by: all.bob)
        #expect(count == 5)
        #expect(all.house.worker.woken().isSuperset(of: all.lines))
        try await all.expectBoards(told: true)
        #expect(try await all.state(all.bob) == .active)
        #expect(try await all.state(all.other) == .ended)
        #expect(try await all.state(all.device) == .ended)
        #expect(try await all.state(all.admin) == .active)
    }

    @Test("by an administrator ends every one, and by nobody else")
    func administrator() async throws {
        let all = try await Household()
        await expectRefusal(.forbidden) {
            try await all.house.authority.revokeAll(of: "ada", by: all.bob)
        }
        await expectRefusal(.forbidden) {
            try await all.house.authority.revokeAll(of: "nobody", by: all.bob)
        }
        await expectRefusal(.notFound) {
            try await all.house.authority.revokeAll(of: "nobody", by: all.admin)
        }
        #expect(try await all.house.authority.revokeAll(of: "bob", by: all.admin) == 6)
        try await all.expectBoards(told: true)
        #expect(try await all.state(all.bob) == .ended)
    }

    @Test("finds them all, however many")
    func many() async throws {
        let house = try await House()
        let ada = try await house.login()
        for _ in 0..<256 { _ = try await house.device(by: ada) }
        await expectRefusal(.quota) { try await house.device(by: ada) }
        #expect(try await house.authority.revokeAll(of: "ada", by: ada) == 256)
        _ = try await house.device(by: ada)
    }

    @Test("comes with a new password, but for boards that are kept", arguments: [true, false])
    func password(keepsBoards: Bool) async throws {
        let all = try await Household()
        let change = PasswordChange(
            username: "bob", password: SecretBytes("another password"), old: all.house.password,
            keepsBoards: keepsBoards, origin: "x")
        try await all.house.authority.setPassword(change, by: all.bob)
        #expect(all.house.worker.woken().isSuperset(of: keepsBoards ? [] : all.lines))
        try await all.expectBoards(told: !keepsBoards)
        #expect(try await all.state(all.bob) == .active)
        #expect(try await all.state(all.other) == .ended)
        #expect(try await all.state(all.device) == .ended)
        await expectRefusal(.notFound) { try await all.house.login("bob") }
        _ = try await all.house.authority.login(LoginAttempt(
            username: "bob", password: SecretBytes("another password"), origin: "x"))
    }

    @Test("with one's own password needs the old one, counted as logins are")
    func oldPassword() async throws {
        let house = try await House()
        let ada = try await house.login()
        house.clock.advance(.seconds(300))
        func change(_ old: SecretBytes?, _ name: String = "ada") async throws {
            try await house.authority.setPassword(
                PasswordChange(
                    username: name, password: SecretBytes("another password"), old: old,
                    keepsBoards: false, origin: "x"),
                by: ada)
        }
        await expectRefusal(.validation) { try await change(nil) }
        for _ in 0..<10 {
            await expectRefusal(.notFound) { try await change(SecretBytes("wrong password")) }
        }
        await expectRefusal(.rateLimit) { try await change(house.password) }
        house.clock.advance(.seconds(301))
        try await change(house.password)
        let bob = try await house.addUser("bob")
        try await change(nil, "bob")
        await expectRefusal(.invalidSession) { try await house.authority.upgrade(bob) }
        await expectRefusal(.notFound) { try await change(nil, "nobody") }
    }

    @Test("with another's password is an administrator's")
    func anothers() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        await expectRefusal(.forbidden) {
            try await house.authority.setPassword(
                PasswordChange(
                    username: "ada", password: SecretBytes("another password"),
                    old: house.password, keepsBoards: false, origin: "x"),
                by: bob)
        }
        _ = try await house.login()
    }

    @Test("comes with a password set at the authority's own command line", arguments: [
        true, false,
    ])
    func console(keepsBoards: Bool) async throws {
        let all = try await Household()
        try await all.house.authority.setPassword(
            SecretBytes("another password"), of: "bob", actor: "console",
            keepsBoards: keepsBoards)
        try await all.expectBoards(told: !keepsBoards)
        #expect(try await all.state(all.bob) == .ended)
    }

    @Test("comes with his being disabled, until he is let in again")
    func disabled() async throws {
        let all = try await Household()
        let house = all.house
        _ = try await house.authority.brokerLogin(by: all.bob)
        let view = try await house.authority.setEnabled(false, user: "bob", by: all.admin)
        #expect(!view.isEnabled)
        #expect(house.worker.woken().isSuperset(
            of: all.lines.union([all.bob.session.objectID.description])))
        try await all.expectBoards(told: true)
        #expect(try await all.state(all.bob) == .ended)
        let program = BrokerReader.person(session: all.bob.session.objectID)
        #expect(try await house.authority.desiredState(for: program) == nil)
        await #expect(
            throws: AuthorityError.refused(
                Refusal(.notFound, "Invalid username/password."))
        ) { try await house.login("bob") }
        #expect(try await house.authority.users(by: all.admin).map(\.isEnabled) == [true, false])
        #expect(try await house.authority.setEnabled(true, user: "bob", by: all.admin).isEnabled)
        _ = try await house.login("bob")
        #expect(try await house.audit("user.disabled").count == 1)
    }

    @Test("cannot lock the last administrator out, nor be asked by others")
    func himself() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        await expectRefusal(.forbidden) {
            try await house.authority.setEnabled(false, user: "ada", by: ada)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.setEnabled(false, user: "bob", by: bob)
        }
        await expectRefusal(.notFound) {
            try await house.authority.setEnabled(false, user: "nobody", by: ada)
        }
    }
}
