import AuthorityStore
import Sessions
import Testing
import Wire

@testable import AuthorityCore

extension House {
    func ask(from origin: String = "192.0.2.7") async throws -> OpenLoginRequest {
        let program = try #require(BoardName("postern on laptop"))
        return try await authority.requestLogin(
            LoginRequestOrder(program: program, origin: origin))
    }

    func use(_ request: OpenLoginRequest) async throws -> LoggedIn {
        try await authority.login(LoginRequestUse(request.deviceCode, origin: "192.0.2.7"))
    }

    func answer(
        _ request: OpenLoginRequest, allows: Bool, by caller: Caller, from origin: String = "test"
    ) async throws {
        try await authority.answerLoginRequest(
            TypedCode(request.userCode, origin: origin), allows: allows, by: caller)
    }

    func find(
        _ code: UserCode, by caller: Caller, from origin: String = "test"
    ) async throws -> LoginRequestView {
        try await authority.loginRequest(
            TypedCode(code, origin: origin), by: caller)
    }
}

/// The name of the refusal that `body` throws; nil if it throws none.
func refusalName(_ body: () async throws -> some Any) async throws -> Refusal.Name? {
    do {
        _ = try await body()
        return nil
    } catch AuthorityError.refused(let refusal) {
        return refusal.name
    }
}

@Suite("Login requests", .everyStore)
struct LoginRequestTests {
    @Test("are found by their code, allowed, and give one session to their program")
    func allowed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let request = try await house.ask()
        #expect(request.page == "https://authority.example/#/login")
        #expect(request.pageWithCode == "\(request.page)/\(request.userCode)")
        #expect(try await refusalName { try await house.use(request) } == .authorizationPending)
        let found = try await house.find(request.userCode, by: ada, from: "192.0.2.7")
        #expect(found == LoginRequestView(
            code: request.userCode, program: "postern on laptop", origin: "192.0.2.7",
            isFromHere: true, createdAt: house.clock.now,
            endsAt: house.clock.now + .seconds(600)))
        #expect(try await !house.find(request.userCode, by: ada).isFromHere)
        try await house.answer(request, allows: true, by: ada)

        let opened = try await house.use(request)
        #expect(opened.user.username == "ada")
        #expect(opened.session.createdWith == CreatedWith(.login, by: .browser))
        #expect(opened.session.custom == ["name": .string("postern on laptop")])
        #expect(!opened.session.restricted)
        // It lives as long as a login by password, and is one.
        #expect(opened.session.expiresAt == ada.session.expiresAt)
        let program = try await house.authority.caller(opened.token)
        #expect(try await !house.authority.users(by: program).isEmpty)

        // It serves once, and nobody can decide it again.
        #expect(try await refusalName { try await house.use(request) } == .expiredToken)
        await expectRefusal(.notFound) { try await house.find(request.userCode, by: ada) }
        let entry = try #require(try await house.audit("login.allowed").first)
        #expect(entry.actor == "ada")
        #expect(entry.detail == "postern on laptop from 192.0.2.7")
        #expect(try await house.audit("login").map(\.detail).contains("192.0.2.7"))
    }

    @Test("that are denied give nothing, also when asked again")
    func denied() async throws {
        let house = try await House()
        let ada = try await house.login()
        let request = try await house.ask()
        // To deny needs no confirmation.
        house.clock.advance(.seconds(400))
        try await house.answer(request, allows: false, by: ada)
        await expectRefusal(.notFound) {
            try await house.answer(request, allows: true, by: try await house.login())
        }
        for _ in 0..<2 {
            #expect(try await refusalName { try await house.use(request) } == .accessDenied)
        }
        #expect(try await house.audit("login.denied").count == 1)
    }

    @Test("are over after ten minutes, and are swept")
    func expired() async throws {
        let house = try await House()
        let request = try await house.ask()
        house.clock.advance(.seconds(599))
        #expect(try await refusalName { try await house.use(request) } == .authorizationPending)
        let ada = try await house.login()
        house.clock.advance(.seconds(1))
        #expect(try await refusalName { try await house.use(request) } == .expiredToken)
        await expectRefusal(.notFound) {
            try await house.answer(request, allows: true, by: ada)
        }
        house.clock.advance(.seconds(1))
        _ = try await house.authority.sweep()
        let hash = try house.authority.hash(of: request.deviceCode)
        let kept = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.loginRequest(deviceHash: hash)
        }
        #expect(kept == nil)
    }

    @Test("are allowed after a confirmation, and what they open confirms nothing")
    func confirmed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (passkey, _) = try await house.passkey(of: ada)
        house.clock.advance(.seconds(300))
        let request = try await house.ask()
        #expect(try await refusalName {
            try await house.answer(request, allows: true, by: ada)
        } == .confirmationNeeded)
        try await house.confirm(ada, with: passkey)
        try await house.answer(request, allows: true, by: ada)
        let program = try await house.authority.caller(try await house.use(request).token)
        // A program whose login somebody was talked into cannot make itself at home.
        let next = try await house.ask()
        await expectRefusal(.validation) {
            try await house.answer(next, allows: true, by: program)
        }
        await expectRefusal(.validation) {
            try await house.authority.makeRecoveryCode(of: "ada", by: program)
        }
        let change = PasswordChange(
            username: "ada", password: SecretBytes("another password"), old: nil,
            keepsBoards: true, origin: "test")
        await expectRefusal(.validation) {
            try await house.authority.setPassword(change, by: program)
        }
    }

    @Test("are not for sessions of devices, nor for those of a recovery code")
    func others() async throws {
        let house = try await House()
        let ada = try await house.login()
        let request = try await house.ask()
        let device = try await house.device(by: ada).caller
        await expectRefusal(.forbidden) { try await house.find(request.userCode, by: device) }
        for allows in [true, false] {
            await expectRefusal(.forbidden) {
                try await house.answer(request, allows: allows, by: device)
            }
        }
        let code = try await house.authority.makeRecoveryCode(of: "ada", actor: "test")
        let opened = try await house.authority.login(
            RecoveryLogin(username: "ada", code: code.secret, origin: "test"))
        let recovered = try await house.authority.caller(opened.token)
        await expectRefusal(.validation) {
            try await house.answer(request, allows: true, by: recovered)
        }
    }

    @Test("end with the rights of those who allowed them, before their program comes", arguments: [
        "disabled", "all sessions", "the session", "password",
    ])
    func withdrawn(by act: String) async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let request = try await house.ask()
        try await house.answer(request, allows: true, by: bob)
        switch act {
        case "disabled": _ = try await house.authority.setEnabled(false, user: "bob", by: ada)
        case "all sessions": _ = try await house.authority.revokeAll(of: "bob", by: bob)
        case "the session":
            try await house.authority.revoke(bob.session.objectID, by: ada)
        default:
            try await house.authority.setPassword(
                SecretBytes("another password"), of: "bob", actor: "test")
        }
        let name = try await refusalName { try await house.use(request) }
        #expect(name == .expiredToken || name == .accessDenied)
    }

    @Test("stay allowed if their person logs out at the page")
    func loggedOut() async throws {
        let house = try await House()
        let ada = try await house.login()
        let request = try await house.ask()
        try await house.answer(request, allows: true, by: ada)
        try await house.authority.logout(ada)
        #expect(try await house.use(request).user.username == "ada")
    }

    @Test("serve once, also at two authorities on one store at once")
    func once() async throws {
        let house = try await House()
        let ada = try await house.login()
        let request = try await house.ask()
        let other = house.reconfigured(lifetimes: .consumer)
        try await other.answerLoginRequest(
            TypedCode(request.userCode, origin: "test"), allows: true, by: ada)
        let use = LoginRequestUse(request.deviceCode, origin: "test")
        let wins = await withTaskGroup(of: Bool.self) { group in
            for authority in [house.authority, other, house.authority, other] {
                group.addTask { (try? await authority.login(use)) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wins == 1)
    }
}

@Suite("Limits of login requests", .everyStore)
struct LoginRequestLimitTests {
    @Test("slow down a program that asks too often")
    func slow() async throws {
        let house = try await House()
        let request = try await house.ask()
        func ask() async throws -> Refusal.Name? {
            try await refusalName { try await house.use(request) }
        }
        #expect(try await ask() == .authorizationPending)
        house.clock.advance(.seconds(3))
        #expect(try await ask() == .slowDown)
        house.clock.advance(.seconds(2))
        #expect(try await ask() == .authorizationPending)
        // A clock that was set back keeps nobody waiting.
        house.clock.advance(.seconds(-60))
        #expect(try await ask() == .authorizationPending)
        // A program that asks too early still gets what was allowed.
        try await house.answer(request, allows: true, by: try await house.login())
        #expect(try await ask() == nil)
    }

    @Test("hold for an address, and for a network of many addresses")
    func room() async throws {
        let house = try await House()
        for _ in 0..<10 { _ = try await house.ask() }
        await expectRefusal(.rateLimit) { try await house.ask() }
        for host in 10..<14 {
            for _ in 0..<10 { _ = try await house.ask(from: "192.0.2.\(host)") }
        }
        await expectRefusal(.rateLimit) { try await house.ask(from: "192.0.2.99") }
        // Elsewhere there is room, and here in ten minutes.
        _ = try await house.ask(from: "198.51.100.1")
        _ = try await house.ask(from: "2001:db8:1::1")
        house.clock.advance(.seconds(600))
        _ = try await house.ask()
    }

    @Test("hold for all together")
    func all() async throws {
        let house = try await House()
        let now = house.clock.now
        try await house.store.transact { transaction throws(AuthorityError) in
            for number in 0..<LoginRequestLimit.room.all {
                let bytes = [UInt8(number >> 8), UInt8(number & 255)]
                let request = LoginRequestRecord(
                    deviceHash: bytes, userHash: bytes, program: "p",
                    origin: "10.\(number >> 8).\(number & 255).1", createdAt: now,
                    endsAt: now + .seconds(600))
                guard try transaction.insert(request) else { throw .sessionOver }
            }
        }
        await expectRefusal(.rateLimit) { try await house.ask() }
        house.clock.advance(.seconds(601))
        while try await house.authority.sweep() {}
        _ = try await house.ask()
    }

    @Test("hold for wrong codes of a user, and a right code gives no new tries")
    func wrongCodes() async throws {
        let house = try await House()
        let ada = try await house.login()
        let request = try await house.ask()
        let wrong = try #require(UserCode("BBBB-BBBB"))
        for number in 0..<10 {
            await expectRefusal(.notFound) {
                try await house.find(wrong, by: ada, from: "192.0.2.\(number)")
            }
            if number < 9 { _ = try await house.find(request.userCode, by: ada) }
        }
        await expectRefusal(.rateLimit) { try await house.find(request.userCode, by: ada) }
        await expectRefusal(.rateLimit) {
            try await house.answer(request, allows: false, by: ada)
        }
        // Another user is not held up, and neither is this one in five minutes.
        _ = try await house.find(request.userCode, by: try await house.addUser("bob"))
        house.clock.advance(.seconds(301))
        _ = try await house.find(request.userCode, by: ada)
        #expect(try await house.audit("login.code-wrong").count == 10)
    }

    @Test("hold for wrong codes from an address, of however many users")
    func address() async throws {
        let house = try await House()
        let request = try await house.ask()
        let wrong = try #require(UserCode("BBBB-BBBB"))
        for number in 0..<3 {
            let user = try await house.addUser("user \(number)")
            for _ in 0..<10 {
                await expectRefusal(.notFound) {
                    try await house.find(wrong, by: user, from: "192.0.2.1")
                }
            }
        }
        let bob = try await house.addUser("bob")
        await expectRefusal(.rateLimit) {
            try await house.find(request.userCode, by: bob, from: "192.0.2.1")
        }
        _ = try await house.find(request.userCode, by: bob, from: "192.0.2.2")
    }
}

@Suite("Login codes")
struct LoginCodeTests {
    @Test("are read as people type them", arguments: [
        ("WDJB-MJHT", true), ("wdjbmjht", true), (" WDJB mjht ", true), ("W-D-J-B-MJHT", true),
        ("WDJB-MJH", false), ("WDJB-MJHTX", false), ("WDJB-MJHA", false), ("WDJB-MJH1", false),
        ("", false), ("WDJB_MJHT", false), (String(repeating: " ", count: 40), false),
    ])
    func typed(text: String, isCode: Bool) {
        #expect(UserCode(text)?.description == (isCode ? "WDJB-MJHT" : nil))
    }

    @Test("have each letter equally often")
    func fair() throws {
        var counts: [UInt8: Int] = [:]
        for start in UInt8.min...UInt8.max {
            let code = try #require(UserCode(random: [UInt8](repeating: start % 240, count: 8)))
            for letter in code.letters where start < 240 { counts[letter, default: 0] += 1 }
        }
        #expect(counts.count == 20)
        #expect(Set(counts.values) == [96])
        #expect(UserCode(random: [UInt8](repeating: 240, count: 32)) == nil)
    }

    @Test("of programs are 32 bytes, printed and read alike")
    func device() throws {
        let code = DeviceCode(random: [UInt8](repeating: 7, count: 32))
        let read = try #require(DeviceCode(code.reveal()))
        #expect(read.secret.matches(code.secret))
        for text in ["", "AA", String(code.reveal().dropLast()), code.reveal() + "A", "%"] {
            #expect(DeviceCode(text) == nil)
        }
    }
}
