import Sessions
import Testing
import WebAuthn
import Wire

@testable import AuthorityCore

@Suite("Passkeys", .everyStore)
struct PasskeyTests {
    @Test("log in the user who has them, and note their use")
    func login() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (passkey, record) = try await house.passkey(of: ada)
        #expect(record.lastUsedAt == nil)
        house.clock.advance(.seconds(60))
        let again = try await house.login(with: passkey)
        #expect(again.user.objectID == ada.user.objectID)
        #expect(again.session.createdWith == CreatedWith(.login, by: .passkey))
        let own = try await house.authority.passkeys(by: again)
        #expect(own.passkeys.map(\.lastUsedAt) == [house.clock.now])
        #expect(own.hasPassword)
        #expect(try await house.audit("passkey.added").map(\.actor) == ["ada"])
    }

    @Test("have challenges that live for five minutes, and none from the future")
    func life() async throws {
        let house = try await House()
        let (passkey, _) = try await house.passkey(of: try await house.login())
        for (span, isGood) in [(299, true), (300, false), (-1, false)] {
            let options = try await house.authority.passkeyOptions(.login, by: nil)
            let attempt = PasskeyLogin(try passkey.answer(options), origin: "test")
            house.clock.advance(.seconds(span))
            if isGood {
                _ = try await house.authority.login(attempt)
            } else {
                await expectRefusal(.notFound) { try await house.authority.login(attempt) }
            }
            house.clock.advance(.seconds(span < 0 ? 1 : 0))
        }
    }

    @Test("have challenges that serve once, also at two authorities on one store at once")
    func once() async throws {
        let house = try await House()
        let (passkey, _) = try await house.passkey(of: try await house.login())
        let options = try await house.authority.passkeyOptions(.login, by: nil)
        let attempt = PasskeyLogin(try passkey.answer(options), origin: "test")
        let other = house.reconfigured(lifetimes: .consumer)
        let wins = await withTaskGroup(of: Bool.self) { group in
            for authority in [house.authority, other, house.authority, other] {
                group.addTask { (try? await authority.login(attempt)) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wins == 1)
    }

    @Test("of a disabled user log nobody in")
    func disabled() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let (passkey, _) = try await house.passkey(of: bob)
        _ = try await house.authority.change("bob", UserChange(isEnabled: false), actor: "test")
        await expectRefusal(.notFound) { try await house.login(with: passkey) }
        _ = try await house.authority.change("bob", UserChange(isEnabled: true), actor: "test")
        _ = try await house.login(with: passkey)
    }

    @Test("with a counter are refused when it does not grow, and go on afterwards")
    func counters() async throws {
        let house = try await House()
        let (passkey, _) = try await house.passkey(of: try await house.login())
        _ = try await house.login(with: passkey, counter: 7)
        for count: UInt32 in [7, 6, 0] {
            await expectRefusal(.notFound) {
                try await house.login(with: passkey, counter: count)
            }
        }
        _ = try await house.login(with: passkey, counter: 8)
        #expect(try await house.audit("passkey.cloned").map(\.actor) == ["ada", "ada", "ada"])
    }

    @Test("are at most 32 of one user")
    func limit() async throws {
        let house = try await House()
        let ada = try await house.login()
        for number in 0..<32 { _ = try await house.passkey(of: ada, "key \(number)") }
        await expectRefusal(.quota) { try await house.passkey(of: ada) }
        #expect(try await house.authority.passkeys(by: ada).passkeys.count == 32)
    }

    @Test("are not for restricted sessions")
    func restricted() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (_, record) = try await house.passkey(of: ada)
        let device = try await house.device(by: ada).caller
        await expectRefusal(.forbidden) { try await house.authority.passkeys(by: device) }
        await expectRefusal(.forbidden) { try await house.passkey(of: device) }
        await expectRefusal(.forbidden) {
            try await house.authority.removePasskey(record.id, by: device)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.makeRecoveryCode(of: "ada", by: device)
        }
    }
}

@Suite("Confirmations", .everyStore)
struct ConfirmationTests {
    private func atPage(_ caller: Caller) -> Caller {
        var caller = caller
        caller.isAtPage = true
        return caller
    }

    @Test("hold for five minutes of a session, at the page")
    func life() async throws {
        let house = try await House()
        let board = try BoardDouble()
        let ada = atPage(try await house.login())
        let (passkey, _) = try await house.passkey(of: ada)
        let live = try await house.provisioned(board, by: ada)
        func release() async throws {
            try await house.authority.release(live.board.installation, by: ada)
        }
        house.clock.advance(.seconds(300))
        await expectRefusal(.validation) { try await release() }
        await expectRefusal(.validation) {
            try await house.authority.revoke(live.session, by: ada)
        }
        // Another session's confirmation is not this one's.
        try await house.confirm(try await house.login(), with: passkey)
        await expectRefusal(.validation) { try await release() }
        try await house.confirm(ada, with: passkey)
        house.clock.advance(.seconds(299))
        try await release()
        #expect(try await house.audit("login.confirmed").count == 2)
    }

    @Test("are not asked of a program's session")
    func programs() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(try BoardDouble(), by: ada)
        house.clock.advance(.seconds(3600))
        try await house.authority.release(live.board.installation, by: ada)
    }

    @Test("are asked of everybody who adds or removes a way to log in")
    func always() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (passkey, record) = try await house.passkey(of: ada)
        house.clock.advance(.seconds(300))
        await expectRefusal(.validation) { try await house.passkey(of: ada) }
        await expectRefusal(.validation) {
            try await house.authority.removePasskey(record.id, by: ada)
        }
        await expectRefusal(.validation) {
            try await house.authority.makeRecoveryCode(of: "ada", by: ada)
        }
        let order = ConfirmationOrder(.password(house.password), origin: "test")
        try await house.authority.confirm(order, by: ada)
        _ = try await house.passkey(of: ada)
        _ = try await house.authority.makeRecoveryCode(of: "ada", by: ada)
        try await house.authority.removePasskey(record.id, by: ada)
        await expectRefusal(.notFound) { try await house.login(with: passkey) }
    }

    @Test("let their user set a new password without the old one")
    func password() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (passkey, _) = try await house.passkey(of: ada)
        house.clock.advance(.seconds(300))
        let change = PasswordChange(
            username: "ada", password: SecretBytes("another password"), old: nil,
            keepsBoards: true, origin: "test")
        await expectRefusal(.validation) {
            try await house.authority.setPassword(change, by: ada)
        }
        try await house.confirm(ada, with: passkey)
        try await house.authority.setPassword(change, by: ada)
    }

    @Test("do not come from a recovery code, which serves once")
    func recovery() async throws {
        let house = try await House()
        let code = try await house.authority.makeRecoveryCode(of: "ada", actor: "test")
        let attempt = RecoveryLogin(username: "Ada", code: code.secret, origin: "test")
        let wins = await withTaskGroup(of: LoggedIn?.self) { group in
            for _ in 0..<4 { group.addTask { try? await house.authority.login(attempt) } }
            return await group.reduce(into: [LoggedIn]()) { all, one in
                if let one { all.append(one) }
            }
        }
        #expect(wins.count == 1)
        let opened = try #require(wins.first)
        #expect(opened.session.createdWith == CreatedWith(.login, by: .recovery))
        let ada = try await house.authority.caller(opened.token)
        await expectRefusal(.validation) {
            try await house.authority.makeRecoveryCode(of: "ada", by: ada)
        }
        let change = PasswordChange(
            username: "ada", password: SecretBytes("another password"), old: nil,
            keepsBoards: true, origin: "test")
        await expectRefusal(.validation) {
            try await house.authority.setPassword(change, by: ada)
        }
        // It may add a passkey, but only at once.
        _ = try await house.passkey(of: ada)
        house.clock.advance(.seconds(300))
        await expectRefusal(.validation) { try await house.passkey(of: ada) }
    }

    @Test("and recovery codes are typed by people", arguments: [
        ("0123456789ABCDEFGHJKMNPQR", true), ("0123-4567 89ab-cdef ghjk-mnpqr", true),
        ("OI23456789ABCDEFGHJKMNPQR", true), ("0123456789ABCDEFGHJKMNPQU", false),
        ("0123456789ABCDEFGHJKMNPQ", false), ("", false), ("0123456789ABCDEFGHJKMNPQRS", false),
    ])
    func typed(text: String, isCode: Bool) {
        let letters = RecoveryCode.letters(of: SecretBytes(text))
        #expect(letters == (isCode ? Array("0123456789ABCDEFGHJKMNPQR".utf8) : nil))
    }
}
