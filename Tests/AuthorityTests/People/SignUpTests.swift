import Sessions
import Testing
import Wire

import AuthorityCore

@Suite("Sign-up", .everyStore)
struct SignUpTests {
    private static let id = SecretBytes("5e8b6d1a-7f0c-4a53-9d55-1f6f6f9c4a11")

    @Test("is refused unless the authority lets people in")
    func closed() async throws {
        let house = try await House()
        for credential in [
            SignUp.Credential.password(username: "eve", house.password),
            .anonymous(id: Self.id),
        ] { await expectRefusal(.forbidden) { try await signUp(house, credential) } }
    }

    @Test("with a password makes a user without rights, and a session that says so")
    func password() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let opened = try await signUp(house, .password(username: "eve", house.password))
        #expect(opened.session.createdWith == CreatedWith(.signup, by: .password))
        #expect(!opened.session.restricted)
        let eve = try await house.authority.caller(opened.token)
        #expect(!eve.user.isAdministrator && !eve.user.mayClaim)
        await expectRefusal(.forbidden) { try await house.claim(BoardDouble(), by: eve) }
        let taken = await refusal {
            try await signUp(house, .password(username: "ADA", house.password))
        }
        #expect(taken?.code == ParseCode.usernameTaken.rawValue)
        await expectRefusal(.validation) {
            try await signUp(house, .password(username: "x", SecretBytes("short")))
        }
        #expect(try await house.login("eve").session.createdWith
            == CreatedWith(.login, by: .password))
    }

    @Test("without a name is the same user whenever the same id comes")
    func anonymous() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let phone = try BoardDouble().installation
        let first = try await signUp(house, .anonymous(id: Self.id), on: phone)
        #expect(first.session.createdWith == CreatedWith(.signup, by: .anonymous))
        #expect(first.session.installationID == phone)
        let second = try await signUp(house, .anonymous(id: Self.id), on: phone)
        #expect(second.session.createdWith == CreatedWith(.login, by: .anonymous))
        #expect(second.user == first.user)
        await expectRefusal(.invalidSession) { try await house.authority.caller(first.token) }
        let caller = try await house.authority.caller(second.token)
        let upgraded = try await house.authority.upgrade(caller)
        #expect(upgraded.session.createdWith == CreatedWith(.upgrade, by: .anonymous))
        let other = try await signUp(
            house, .anonymous(id: SecretBytes("5e8b6d1a-7f0c-4a53-9d55-1f6f6f9c4a12")))
        #expect(other.user.objectID != first.user.objectID)
        await expectRefusal(.validation) {
            try await signUp(house, .anonymous(id: SecretBytes("guessable")))
        }
        // No password opens what has none.
        for password in ["", "password", "5e8b6d1a-7f0c-4a53-9d55-1f6f6f9c4a11"] {
            await expectRefusal(.notFound) {
                try await house.authority.login(LoginAttempt(
                    username: first.user.username, password: SecretBytes(password), origin: "y"))
            }
        }
        let ada = try await house.login()
        _ = try await house.authority.setEnabled(false, user: first.user.username, by: ada)
        await expectRefusal(.notFound) { try await signUp(house, .anonymous(id: Self.id)) }
    }

    @Test("is limited for each address, as logins are")
    func limited() async throws {
        let house = try await House(letsPeopleSignUp: true)
        func id(_ number: Int) -> SignUp.Credential {
            .anonymous(id: SecretBytes("an anonymous id, number \(number)"))
        }
        for number in 0..<100 { _ = try await signUp(house, id(number)) }
        await expectRefusal(.rateLimit) { try await signUp(house, id(0)) }
        await expectRefusal(.rateLimit) {
            try await signUp(house, .password(username: "eve", house.password))
        }
        await expectRefusal(.rateLimit) {
            try await house.authority.login(LoginAttempt(
                username: "ada", password: house.password, origin: "x"))
        }
        house.clock.advance(.seconds(301))
        _ = try await signUp(house, id(0))
    }

    @discardableResult
    private func signUp(
        _ house: House, _ credential: SignUp.Credential, on installation: InstallationID? = nil
    ) async throws -> LoggedIn {
        try await house.authority.signUp(
            SignUp(credential: credential, installation: installation, origin: "x"))
    }
}
