import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Login", .everyStore)
struct LoginTests {
    @Test("says the same of an unknown user and a wrong password", arguments: [
        "ada", "nobody", "ADA", "", "_User", "a/b", "ada\u{0}", "аda",
    ])
    func wrong(name: String) async throws {
        let house = try await House()
        await #expect(
            throws: AuthorityError.refused(
                Refusal(.notFound, "Invalid username/password."))
        ) {
            try await house.authority.login(
                LoginAttempt(
                    username: name, password: SecretBytes("not the password"), origin: "x"))
        }
    }

    @Test("is not refused for years by what a clock that was years ahead has counted")
    func wrongClock() async throws {
        let house = try await House()
        let decade = Duration.seconds(10 * 365 * 86_400)
        func attempt(_ password: SecretBytes) async throws {
            _ = try await house.authority.login(
                LoginAttempt(username: "ada", password: password, origin: "x"))
        }
        house.clock.advance(decade)
        for _ in 0..<10 {
            await expectRefusal(.notFound) { try await attempt(SecretBytes("wrong password")) }
        }
        await expectRefusal(.rateLimit) { try await attempt(house.password) }
        house.clock.advance(.zero - decade)
        try await attempt(house.password)
    }

    @Test("locks no address for the right passwords that came from it")
    func manyRightOnes() async throws {
        let house = try await House()
        for _ in 0..<120 {
            _ = try await house.authority.login(
                LoginAttempt(username: "ada", password: house.password, origin: "x"))
        }
        // The wrong ones still count.
        for number in 0..<100 {
            await expectRefusal(.notFound) {
                try await house.authority.login(LoginAttempt(
                    username: "user\(number)", password: SecretBytes("wrong"), origin: "x"))
            }
        }
        await expectRefusal(.rateLimit) {
            try await house.authority.login(
                LoginAttempt(username: "ada", password: house.password, origin: "x"))
        }
    }

    @Test("is refused after ten wrong tries, there and for a while", .timeLimit(.minutes(5)))
    func limit() async throws {
        let house = try await House()
        func attempt(_ password: SecretBytes, _ origin: String) async throws {
            _ = try await house.authority.login(
                LoginAttempt(username: "ada", password: password, origin: origin))
        }
        let outcomes = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<14 {
                group.addTask {
                    do {
                        try await attempt(SecretBytes("wrong password"), "x")
                        return 0
                    } catch AuthorityError.refused(let refusal) {
                        return refusal.code
                    } catch {
                        return -1
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(outcomes == [101: 10, 155: 4])
        await expectRefusal(.rateLimit) { try await attempt(house.password, "x") }
        try await attempt(house.password, "y")
        house.clock.advance(.seconds(301))
        try await attempt(house.password, "x")
    }

    @Test("says for how many seconds it is refused")
    func wait() async throws {
        let house = try await House()
        func attempt() async throws {
            _ = try await house.authority.login(
                LoginAttempt(username: "ada", password: house.password, origin: "x"))
        }
        for _ in 0..<10 {
            await expectRefusal(.notFound) {
                try await house.authority.login(LoginAttempt(
                    username: "ada", password: SecretBytes("wrong"), origin: "x"))
            }
            house.clock.advance(.seconds(10))
        }
        // The first of the ten was 100 s ago.
        await #expect(throws: AuthorityError.refused(.tooMany("tries", wait: .seconds(200)))) {
            try await attempt()
        }
        house.clock.advance(.milliseconds(199_500))
        await #expect(throws: AuthorityError.refused(.tooMany("tries", wait: .seconds(1)))) {
            try await attempt()
        }
        house.clock.advance(.seconds(1))
        try await attempt()
    }

    @Test("is remembered by the address that it came from, a wrong one is not")
    func origins() async throws {
        let house = try await House()
        let login = { (origin: String, isRight: Bool) in
            _ = try? await house.authority.login(LoginAttempt(
                username: "ada", password: isRight ? house.password : SecretBytes("wrong"),
                origin: origin))
        }
        await login("192.0.2.1", true)
        house.clock.advance(.seconds(31 * 86_400))
        for (origin, isRight) in [
            ("192.0.2.2", true), ("192.0.2.3", false), ("192.0.2.4", true), ("192.0.2.2", true),
        ] { await login(origin, isRight) }
        #expect(try await house.authority.loginOrigins() == ["192.0.2.4", "192.0.2.2"])
    }

    @Test("opens a session that ends by logging out, and by its limits")
    func sessions() async throws {
        let house = try await House()
        let opened = try await house.authority.login(
            LoginAttempt(username: "ada", password: house.password, origin: "x"))
        let caller = try await house.authority.caller(opened.token)
        #expect(!caller.session.restricted && caller.user.isAdministrator)
        try await house.authority.logout(caller)
        await expectRefusal(.invalidSession) { try await house.authority.caller(opened.token) }
        let second = try await house.authority.login(
            LoginAttempt(username: "ada", password: house.password, origin: "x"))
        house.clock.advance(.seconds(5 * 86_400))
        await expectRefusal(.invalidSession) { try await house.authority.caller(second.token) }
    }

    @Test("is not what a board's token is good for")
    func boardToken() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        await expectRefusal(.invalidSession) {
            try await house.authority.caller(live.provision.tokens.session)
        }
        #expect(try await live.authenticate().result != nil)
    }

    @Test("takes users by names that cannot be mistaken", arguments: [
        ("", 200), ("ada\n", 142), ("ada\u{202e}", 142), ("board", 142), ("ADA", 202),
        ("ada", 202), (" ada", 202), (String(repeating: "a", count: 257), 142),
    ])
    func names(name: String, code: Int) async throws {
        let house = try await House()
        let ada = try await house.login()
        let refusal = await refusal {
            try await house.authority.addUser(
                NewUser(
                    username: name, password: house.password, isAdministrator: false,
                    mayClaim: false),
                by: ada)
        }
        #expect(refusal?.code == code)
    }

    @Test("of somebody who is no administrator gives no rights to others")
    func rights() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        await expectRefusal(.forbidden) { try await house.authority.users(by: bob) }
        await expectRefusal(.forbidden) {
            try await house.authority.audit(AuditQuery(limit: 1, board: nil), by: bob)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.addUser(
                NewUser(
                    username: "mallory", password: house.password, isAdministrator: true,
                    mayClaim: true),
                by: bob)
        }
        let login = try await house.authority.brokerLogin(by: bob)
        #expect(login.filters.isEmpty)
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let filters = try await house.authority.brokerLogin(by: bob).filters
        #expect(filters == [
            "postern/v1/\(live.board.installation)/data/#",
            "postern/v1/\(live.board.installation)/status",
        ])
    }
}

extension LoginTests {
    @Test("does the same work for an unknown user, a wrong password and a disabled user")
    func work() async throws {
        let house = try await House()
        let ada = try await house.login()
        _ = try await house.addUser("bob")
        _ = try await house.authority.setEnabled(false, user: "bob", by: ada)
        let tally = QuickPasswords.Tally()
        let clock = house.clock
        let authority = Authority(
            store: house.store, cryptography: QuickPasswords(tally: tally),
            worker: house.worker, keys: house.keys, rules: house.authority.rules,
            clock: { clock.now })
        var written: [Int] = []
        for (name, password) in [("ada", "wrong password"), ("bob", "correct horse battery"),
            ("nobody", "wrong password"), ("no such name!", "wrong password")]
        {
            let before = try await house.audit("login.failed").count
            await #expect(throws: AuthorityError.refused(
                Refusal(.notFound, "Invalid username/password."))
            ) {
                try await authority.login(LoginAttempt(
                    username: name, password: SecretBytes(password), origin: "test"))
            }
            // One password is hashed, whoever it is said to be of.
            #expect(tally.take().count == 1)
            written.append(try await house.audit("login.failed").count - before)
        }
        #expect(written == [1, 1, 1, 1])
    }

    @Test("hashes a password anew whose hash cost less, once it was right")
    func renews() async throws {
        let house = try await House()
        // `hashlib.scrypt` of Python, N 2^14 and p 1.
        let old = "$scrypt$ln=14,r=8,p=1$AQIDBAUGBwg$9pzLHoprWBqU2Op7DajFARrbIRCFtgeoz5cPDrBLuwg"
        func hash() async throws -> String? {
            try await house.store.read { transaction throws(AuthorityError) in
                try transaction.user(named: "ada")?.passwordHash
            }
        }
        try await house.store.transact { transaction throws(AuthorityError) in
            guard let ada = try transaction.user(named: "ada") else { return }
            try transaction.setPasswordHash(old, of: ada.objectID)
        }
        _ = try? await house.authority.login(LoginAttempt(
            username: "ada", password: SecretBytes("wrong password"), origin: "test"))
        #expect(try await hash() == old)
        _ = try await house.login()
        #expect(try await hash() != old)
        _ = try await house.login()
    }

    @Test("is limited for each name and each address, apart from each other")
    func limits() async throws {
        let house = try await House()
        func fails(_ name: String, from origin: String) async -> Int? {
            do throws(AuthorityError) {
                _ = try await house.authority.login(LoginAttempt(
                    username: name, password: SecretBytes("wrong password"), origin: origin))
                return nil
            } catch {
                if case .refused(let refusal) = error { return refusal.code }
                return nil
            }
        }
        for _ in 0..<10 { #expect(await fails("ada", from: "1.1.1.1") == 101) }
        #expect(await fails("ada", from: "1.1.1.1") == 155)
        #expect(await fails("ADA", from: "1.1.1.1") == 155)
        // Elsewhere, and under another name, tries are left: nobody locks ada out.
        #expect(await fails("ada", from: "2.2.2.2") == 101)
        #expect(await fails("bob", from: "1.1.1.1") == 101)
        for number in 0..<89 { _ = await fails("user\(number)", from: "1.1.1.1") }
        #expect(await fails("carol", from: "1.1.1.1") == 155)
        house.clock.advance(.seconds(301))
        #expect(await fails("ada", from: "1.1.1.1") == 101)
    }
}
