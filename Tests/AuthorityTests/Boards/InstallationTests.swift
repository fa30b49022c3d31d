import Sessions
import Testing
import Wire

import AuthorityCore

@Suite("Installation", .everyStore)
struct InstallationTests {
    @Test("has one session of a user: a login there ends the one before")
    func login() async throws {
        let house = try await House()
        let phone = try BoardDouble().installation
        let first = try await house.authority.login(attempt(house, phone))
        let elsewhere = try await house.authority.login(attempt(house, nil))
        let second = try await house.authority.login(attempt(house, phone))
        #expect(second.session.installationID == phone)
        await expectRefusal(.invalidSession) { try await house.authority.caller(first.token) }
        _ = try await house.authority.caller(elsewhere.token)
        _ = try await house.authority.caller(second.token)
    }

    @Test("has sessions of different users side by side")
    func users() async throws {
        let house = try await House()
        let phone = try BoardDouble().installation
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let first = try await house.device(by: ada, on: phone)
        let second = try await house.device(by: bob, on: phone)
        _ = try await house.authority.caller(first.opened.token)
        _ = try await house.authority.caller(second.opened.token)
        let live = try await house.provisioned(
            BoardDouble(installation: phone), by: bob)
        _ = try await house.authority.caller(first.opened.token)
        await expectRefusal(.invalidSession) {
            try await house.authority.caller(second.opened.token)
        }
        #expect(try await live.authenticate().result != nil)
        let seen = try await house.authority.session(first.caller.session.objectID, by: ada)
        #expect(seen.boardName == nil)
    }

    @Test("that is a board hears of its end when its user makes another session there",
          arguments: [true, false])
    func board(byLogin: Bool) async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        if byLogin {
            _ = try await house.authority.login(attempt(house, live.board.installation))
        } else {
            _ = try await house.device(by: ada, on: live.board.installation)
        }
        #expect(house.worker.woken().contains(live.board.installation.description))
        let notice = try #require(try await house.retained(live.board))
        guard case .revoked(_, live.session, _) = try live.board.open(
            notice, from: live.sealKey).body
        else { throw NotThat() }
        #expect(try await live.authenticate().errorCode == 209)
        // Another's login there says nothing of the board's.
        let next = try await house.provisioned(try live.board.pairedAnew(), by: ada)
        let bob = try await house.addUser("bob")
        _ = try await house.device(by: bob, on: live.board.installation)
        #expect(try await next.authenticate().result != nil)
    }

    @Test("is set once")
    func once() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (phone, tablet) = (try BoardDouble().installation, try BoardDouble().installation)
        let earlier = try await house.device(by: ada, on: phone)
        let made = try await house.device(by: ada)
        let id = made.caller.session.objectID
        #expect(made.caller.session.installationID == nil)
        let draft = SessionDraft(installation: phone, custom: [:])
        for caller in [made.caller, made.caller, ada] {
            let view = try await house.authority.update(id, with: draft, by: caller)
            #expect(view.session.installationID == phone)
        }
        await expectRefusal(.invalidSession) {
            try await house.authority.caller(earlier.opened.token)
        }
        for caller in [made.caller, ada] {
            await expectRefusal(.forbidden) {
                try await house.authority.update(
                    id, with: SessionDraft(installation: tablet, custom: [:]), by: caller)
            }
        }
        let live = try await house.provisioned(BoardDouble(), by: ada)
        await expectRefusal(.forbidden) {
            try await house.authority.update(live.session, with: draft, by: ada)
        }
    }

    @Test("of a board is not taken over by a restricted session")
    func takenOver() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let device = try await house.device(by: ada)
        let draft = SessionDraft(installation: live.board.installation, custom: [:])
        let id = device.caller.session.objectID
        await expectRefusal(.forbidden) {
            try await house.authority.update(id, with: draft, by: device.caller)
        }
        #expect(try await live.authenticate().result != nil)
        #expect(try await house.record(id)?.session.installationID == nil)
        _ = try await house.authority.update(id, with: draft, by: ada)
        #expect(try await live.authenticate().errorCode == 209)
    }

    @Test("of a person's own login is not taken over by a restricted session either")
    func loginStays() async throws {
        let house = try await House()
        let installation = try BoardDouble().installation
        let opened = try await house.authority.login(attempt(house, installation))
        let ada = try await house.authority.caller(opened.token)
        let device = try await house.device(by: ada)
        await expectRefusal(.forbidden) {
            try await house.authority.update(
                device.caller.session.objectID,
                with: SessionDraft(installation: installation, custom: [:]), by: device.caller)
        }
        _ = try await house.authority.caller(opened.token)
    }

    @Test("names how each of its sessions came to be")
    func origins() async throws {
        let house = try await House()
        let opened = try await house.authority.login(attempt(house, nil))
        #expect(opened.session.createdWith == CreatedWith(.login, by: .password))
        let ada = try await house.authority.caller(opened.token)
        let upgraded = try await house.authority.upgrade(ada)
        #expect(upgraded.session.createdWith == CreatedWith(.upgrade, by: .password))
        #expect(upgraded.session.expiresAt == opened.session.expiresAt)
        await expectRefusal(.invalidSession) { try await house.authority.caller(opened.token) }
        let caller = try await house.authority.caller(upgraded.token)
        let made = try await house.device(by: caller)
        #expect(made.caller.session.createdWith == CreatedWith(.create, by: .password))
        #expect(made.caller.session.restricted)
        await expectRefusal(.invalidSession) { try await house.authority.upgrade(ada) }
    }

    private func attempt(_ house: House, _ installation: InstallationID?) -> LoginAttempt {
        LoginAttempt(
            username: "ada", password: house.password, origin: "x", installation: installation)
    }
}
