import Sessions
import Testing
import Wire

import AuthorityCore

@Suite("A user's profile", .everyStore)
struct ProfileTests {
    private static let id = SecretBytes("5e8b6d1a-7f0c-4a53-9d55-1f6f6f9c4a11")

    private func signUp(
        _ house: House, _ credential: SignUp.Credential, _ change: (inout ProfileChange) -> Void
    ) async throws -> LoggedIn {
        var profile = ProfileChange()
        change(&profile)
        return try await house.authority.signUp(
            SignUp(credential: credential, profile: profile, installation: nil, origin: "x"))
    }

    @discardableResult
    private func change(
        _ house: House, _ caller: Caller, _ change: (inout ProfileChange) -> Void
    ) async throws -> UserView {
        var profile = ProfileChange()
        change(&profile)
        return try await house.authority.change(caller.user.objectID, profile, by: caller)
    }

    private func password(_ new: String, old: SecretBytes? = nil) -> PasswordChange {
        PasswordChange(
            username: "", password: SecretBytes(new), old: old, keepsBoards: false, origin: "x")
    }

    @Test("is kept from the sign-up on, wherever the user is read")
    func kept() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let opened = try await signUp(
            house, .password(username: "eve+x@example.com", house.password)
        ) {
            $0.email = .set("Eve@Example.com")
            $0.fields = ["phone": "555", "visits": 1]
        }
        house.clock.advance(.seconds(5))
        let eve = try await house.authority.caller(opened.token)
        #expect(eve.user == opened.user)
        #expect(eve.user.email?.description == "Eve@Example.com")
        #expect(eve.user.fields == ["phone": "555", "visits": 1])
        let changed = try await change(house, eve) {
            $0.fields = [
                "phone": .object(["__op": "Delete"]),
                "visits": .object(["__op": "Increment", "amount": 2]),
                "tags": .object(["__op": "AddUnique", "objects": .array(["a", "a"])]),
            ]
        }
        #expect(changed.fields == ["visits": 3, "tags": .array(["a"])])
        #expect(changed.updatedAt > changed.createdAt)
        let ada = try await house.login()
        let found = try await house.authority.users(by: ada)
        #expect(found.contains(changed))
        #expect(try await house.authority.users(.longest, by: ada) == found)
        #expect(try await house.authority.login(LoginAttempt(
            username: "EVE@example.com", isByEmail: true, password: house.password, origin: "x")
        ).user == changed)
        #expect(try await change(house, eve) { $0.email = .remove }.email == nil)
    }

    @Test("has a name and an e-mail address that nobody else has")
    func unique() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let jose = try await signUp(house, .password(username: "José", house.password)) {
            $0.email = .set("jose@example.com")
        }
        for name in ["jose\u{301}", " JOSÉ "] {
            let taken = await refusal {
                try await signUp(house, .password(username: name, house.password)) { _ in }
            }
            #expect(taken?.code == 202, "\(name)")
        }
        let taken = await refusal {
            try await signUp(house, .password(username: "eve", house.password)) {
                $0.email = .set("Jose@Example.com")
            }
        }
        #expect(taken?.code == 203)
        for (text, code) in [("", 204), ("nobody", 125), ("a b@c", 125)] {
            let refused = await refusal {
                try await signUp(house, .password(username: "eve", house.password)) {
                    $0.email = .set(text)
                }
            }
            #expect(refused?.code == code, "\(text)")
        }
        let bob = try await house.addUser("bob")
        #expect(await refusal { try await change(house, bob) { $0.username = "jose\u{301}" } }?
            .code == 202)
        let other = await refusal {
            try await change(house, bob) { $0.email = .set("JOSE@example.com") }
        }
        #expect(other?.code == 203)
        let caller = try await house.authority.caller(jose.token)
        let renamed = try await change(house, caller) {
            $0.username = "JOSÉ"
            $0.email = .set("JOSE@example.com")
        }
        #expect(renamed.username == "JOSÉ")
        #expect(try await house.login("jose\u{301}").user == renamed)
    }

    @Test("of an anonymous user gets a name and a password, and the session stays")
    func named() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let opened = try await signUp(house, .anonymous(id: Self.id)) { $0.fields = ["score": 7] }
        house.clock.advance(.seconds(3600))
        let caller = try await house.authority.caller(opened.token)
        await expectRefusal(.forbidden) {
            try await change(house, caller) {
                $0.anonymousID = .keep(SecretBytes("another anonymous id, which is long"))
            }
        }
        await expectRefusal(.validation) {
            try await change(house, caller) { $0.anonymousID = .remove }
        }
        let named = try await change(house, caller) {
            $0.username = "eve@example.com"
            $0.password = password("a long password")
            $0.anonymousID = .keep(Self.id)
        }
        #expect(named.objectID == opened.user.objectID && named.fields == ["score": 7])
        #expect(try await house.authority.caller(opened.token).user == named)
        let again = try await house.authority.login(LoginAttempt(
            username: "eve@example.com", password: SecretBytes("a long password"), origin: "x"))
        #expect(again.user == named)
        let other = try await signUp(house, .anonymous(id: Self.id)) { _ in }
        #expect(other.user.objectID != named.objectID)
    }

    @Test("gets a new password from a login of the last five minutes, or with the old one")
    func password() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let eve = try await signUp(house, .password(username: "eve", house.password)) { _ in }
        let caller = try await house.authority.caller(eve.token)
        let other = try await house.login("eve")
        house.clock.advance(.seconds(299))
        try await change(house, caller) { $0.password = password("a second password") }
        await expectRefusal(.invalidSession) { try await house.authority.sessions(
            by: other, everyone: false) }
        house.clock.advance(.seconds(1))
        await expectRefusal(.validation) {
            try await change(house, caller) { $0.password = password("a third password") }
        }
        await expectRefusal(.notFound) {
            try await change(house, caller) {
                $0.password = password("a third password", old: house.password)
            }
        }
        try await change(house, caller) {
            $0.password = password(
                "a third password", old: SecretBytes("a second password"))
        }
        _ = try await house.authority.caller(eve.token)
    }

    @Test("gets no password from a session that another session made")
    func upgraded() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let eve = try await signUp(house, .password(username: "eve", house.password)) { _ in }
        house.clock.advance(.seconds(3600))
        let upgraded = try await house.authority.upgrade(house.authority.caller(eve.token))
        let caller = try await house.authority.caller(upgraded.token)
        await expectRefusal(.validation) {
            try await change(house, caller) { $0.password = password("a stolen password") }
        }
    }

    @Test("is nobody else's to change, and not a restricted session's")
    func others() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        var profile = ProfileChange()
        profile.email = .set("bob@example.com")
        await expectRefusal(.notFound) {
            try await house.authority.change(ada.user.objectID, profile, by: bob)
        }
        let device = try await house.device(by: bob).caller
        await expectRefusal(.forbidden) {
            try await house.authority.change(bob.user.objectID, profile, by: device)
        }
        for caller in [ada, .master] {
            let changed = try await house.authority.change(bob.user.objectID, profile, by: caller)
            #expect(changed.email?.description == "bob@example.com")
        }
    }

    @Test("counts each name's tries apart, whatever the name is")
    func tries() async throws {
        let house = try await House(letsPeopleSignUp: true)
        _ = try await signUp(house, .password(username: "*", house.password)) { _ in }
        func login(_ name: String, _ password: SecretBytes) async throws {
            _ = try await house.authority.login(
                LoginAttempt(username: name, password: password, origin: "x"))
        }
        // A right password in between forgives no tries of other names.
        for _ in 0..<9 {
            await expectRefusal(.notFound) { try await login("ada", SecretBytes("wrong")) }
            try await login("*", house.password)
        }
        await expectRefusal(.notFound) { try await login(" ADA", SecretBytes("wrong")) }
        await expectRefusal(.rateLimit) { try await login("ada", house.password) }
    }
}
