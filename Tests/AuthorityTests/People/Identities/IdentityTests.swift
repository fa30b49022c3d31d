import AuthorityCore
import AuthorityStore
import ConfigurationFiles
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("Login by another's word", .everyStore)
struct IdentityTests {
    @Test("makes a user the first time, and is that user's login from then on")
    func signUp() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let first = try await authority.enter(provider.proof(of: "10158", house))
        #expect(first.session.createdWith
            == CreatedWith(action: "signup", authProvider: "facebook"))
        #expect(!first.session.restricted && !first.user.isAdministrator && !first.user.mayClaim)
        #expect(first.user.username == "facebook-\(first.user.objectID)")
        let second = try await authority.enter(provider.proof(of: "10158", house))
        #expect(second.session.createdWith
            == CreatedWith(action: "login", authProvider: "facebook"))
        #expect(second.user == first.user)
        let other = try await authority.enter(provider.proof(of: "10159", house))
        #expect(other.user.objectID != first.user.objectID)
        let caller = try await authority.caller(second.token)
        let identities = try await authority.identities(by: caller)
        #expect(identities.map(\.subject) == ["10158"])
        #expect(try await house.audit("signup").count == 2)
    }

    @Test("is what the sessions made from it say, too")
    func madeFromIt() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let opened = try await authority.enter(provider.proof(of: "1", house))
        let caller = try await authority.caller(opened.token)
        let device = try await authority.makeSession(
            SessionDraft(installation: nil, custom: [:]), by: caller)
        #expect(device.session.createdWith
            == CreatedWith(action: "create", authProvider: "facebook"))
        let next = try await authority.upgrade(caller)
        #expect(next.session.createdWith
            == CreatedWith(action: "upgrade", authProvider: "facebook"))
    }

    @Test("lets in whom somebody knows, and nobody new unless it says so")
    func closed() async throws {
        let house = try await House(letsPeopleSignUp: true)
        let provider = try IDProvider()
        let proof = try provider.proof(of: "1", house)
        let closed = house.believing(provider, signUp: false)
        await expectRefusal(.notFound) { try await closed.enter(proof) }
        // What was refused was not spent.
        let ada = try await house.login()
        try await closed.link(proof, from: "x", by: ada)
        let opened = try await closed.enter(provider.proof(of: "1", house))
        #expect(opened.user == ada.user)
        let eve = try IDProvider("eve")
        await expectRefusal(.forbidden) { try await closed.enter(eve.proof(of: "1", house)) }
    }

    @Test("takes each token once, of many at once too")
    func once() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let proof = try provider.proof(of: "1", house)
        let served = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    do {
                        _ = try await authority.enter(proof, from: "address \(number)")
                        return true
                    } catch { return false }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(served == 1)
        #expect(try await house.audit("login.failed").count == 7)
        let ada = try await house.login()
        await expectRefusal(.notFound) { try await authority.link(proof, from: "x", by: ada) }
        // Remembered for as long as it is good and an hour more, and then no longer.
        house.clock.advance(.seconds(899))
        while try await authority.sweep() {}
        await expectRefusal(.notFound, saying: .spent) { try await authority.enter(proof) }
        house.clock.advance(.seconds(3602))
        while try await authority.sweep() {}
        await expectRefusal(.notFound, saying: .expired) { try await authority.enter(proof) }
        let isForgotten = try await house.store.transact { transaction throws(AuthorityError) in
            try transaction.deleteSpentProofs(
                endedBefore: Timestamp(milliseconds: .max), limit: 10) == 0
        }
        #expect(isForgotten)
    }

    @Test("of a disabled user is nobody's")
    func disabled() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let opened = try await authority.enter(provider.proof(of: "1", house))
        let ada = try await house.login()
        _ = try await authority.setEnabled(false, user: opened.user.username, by: ada)
        await expectRefusal(.notFound, saying: .nobody) {
            try await authority.enter(provider.proof(of: "1", house))
        }
    }

    @Test("is another person's where the same name has got another issuer")
    func otherIssuer() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let opened = try await house.believing(provider).enter(provider.proof(of: "1", house))
        let moved = house.believing(
            [provider.rule(issuer: "https://other.example")],
            IDTokenCheck(testing: [provider.name: provider.place]))
        var claims = IDProvider.claims(of: "1", at: house.clock.now)
        claims["iss"] = .string("https://other.example")
        let other = try await moved.enter(provider.proof(provider.sign(claims)))
        #expect(other.user.objectID != opened.user.objectID)
    }

    @Test("is limited for each address, and noted without the token")
    func limited() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let text = try provider.sign(IDProvider.claims(of: "1", at: house.clock.now))
        let forged = try provider.proof(String(text.dropLast(4)) + "AAAA")
        for _ in 0..<10 {
            await expectRefusal(.notFound, saying: .forged) {
                try await authority.enter(forged, from: "192.0.2.1")
            }
        }
        await expectRefusal(.rateLimit) {
            try await authority.enter(provider.proof(text), from: "192.0.2.1")
        }
        _ = try await authority.enter(provider.proof(text), from: "192.0.2.2")
        house.clock.advance(.seconds(301))
        _ = try await authority.enter(provider.proof(of: "1", house), from: "192.0.2.1")
        let noted = try await house.audit("login.failed")
        #expect(noted.count == 10)
        #expect(noted.allSatisfy {
            $0.detail == "192.0.2.1, facebook: its signature is wrong" && $0.actor == "unknown"
        })
    }

    @Test("fails by the name of the layer while the provider's keys are away, and only that")
    func away() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(
            [provider.rule()],
            IDTokenCheck(testing: [provider.name: .file("\(provider.path).gone")]))
        let proof = try provider.proof(of: "1", house)
        for _ in 0..<12 {
            await #expect {
                try await authority.enter(proof)
            } throws: { error in
                guard case AuthorityError.failed(let layer, let text) = error else { return false }
                return layer == "keys of facebook" && text.hasPrefix("file: ")
            }
        }
        _ = try await house.login()
        // Nothing of it is the token's fault.
        #expect(try await house.believing(provider).enter(proof).user.username
            .hasPrefix("facebook-"))
        #expect(try await house.audit("login.failed").isEmpty)
    }
}

/// Expects a refusal that says why a token is of no use.
func expectRefusal(
    _ code: ErrorCode, saying fault: IDTokenFault, _ body: () async throws -> some Any
) async {
    await #expect {
        _ = try await body()
    } throws: { error in
        guard case AuthorityError.refused(let refusal) = error else { return false }
        return refusal.is(code) && refusal.text.hasSuffix(": \(fault.words)")
    }
}
