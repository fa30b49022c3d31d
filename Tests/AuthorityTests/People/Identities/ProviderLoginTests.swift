import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("Login by a provider's button", .everyStore)
struct ProviderLoginTests {
    @Test("asks with state, nonce and PKCE, and opens the session of that identity")
    func login() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house)
        let departure = try await authority.departure(to: codes.provider.name, isAgain: false)
        let asked = codes.receive(departure)
        #expect(departure.address.hasPrefix("https://login.example/in?tenant=1&response_type=code"))
        let callback = "https://authority.example/postern/v1/console/providers/facebook/callback"
        #expect(asked["redirect_uri"] == callback)
        #expect(asked["client_id"] == "us" && asked["scope"] == "openid")
        #expect(asked["prompt"] == nil && asked["code_challenge_method"] == "S256")
        let result = try await authority.login(codes.arrival(departure.visit, asked["state"]))
        let opened = try result.get()
        #expect(opened.session.createdWith
            == CreatedWith(action: "signup", authProvider: "facebook"))
        let code = try #require(codes.codes.first)
        #expect(code.redirectURI == callback)
        #expect(code.verifier.count == 43)
        #expect(Base64URL.encode(try SHA256.digest(code.verifier.reveal()))
            == asked["code_challenge"])
        // None of the secrets is another, and the cookie shows none of them.
        let texts = [code.verifier, departure.visit]
            .map { String(decoding: $0.reveal(), as: UTF8.self) }
            + [asked["state"], asked["nonce"], asked["code_challenge"]].compactMap { $0 }
        #expect(Set(texts).count == 5)
        #expect(texts.allSatisfy { text in texts.count { $0.contains(text) } == 1 })
        let again = try await codes.login(authority, isAgain: true).get()
        #expect(again.user == opened.user)
    }

    @Test("is finished by any authority that shares the keys and the store, once")
    func replicas() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let departure = try await codes.authority(house)
            .departure(to: codes.provider.name, isAgain: false)
        let state = codes.receive(departure)["state"]
        let results = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<6 {
                group.addTask {
                    let result = try await codes.authority(house).login(
                        codes.arrival(departure.visit, state, origin: "192.0.2.\(number)"))
                    if case .failure(let problem) = result { #expect(problem == .visit) }
                    return (try? result.get()) != nil
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(results == 1)
        #expect(codes.codes.count == 1)
    }

    @Test("is of one visit, of one provider and of ten minutes")
    func visit() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house)
        let name = codes.provider.name
        let mine = try await authority.departure(to: name, isAgain: false)
        let state = codes.receive(mine)["state"]
        let other = try await authority.departure(to: name, isAgain: false)
        let elsewhere = try CodeProvider(house, named: "eve")
        let foreign = try await elsewhere.authority(house)
            .departure(to: elsewhere.provider.name, isAgain: false)
        func changed(_ index: Int) throws -> SecretBytes {
            var bytes = try #require(
                Base64URL.decode(String(decoding: mine.visit.reveal(), as: UTF8.self)))
            bytes[index < 0 ? bytes.count + index : index] ^= 1
            return SecretBytes(Array(Base64URL.encode(bytes).utf8))
        }
        let stranger = try await House()
        let strange = try await CodeProvider(stranger).authority(stranger)
            .departure(to: name, isAgain: false)
        let wrong: [(SecretBytes?, String?)] = [
            (nil, state), (mine.visit, nil), (mine.visit, ""), (other.visit, state),
            (mine.visit, codes.receive(other)["state"]),
            (foreign.visit, elsewhere.receive(foreign)["state"]),
            (try changed(-1), state), (try changed(0), state),
            (strange.visit, codes.receive(strange)["state"]),
            (SecretBytes([]), state), (SecretBytes(Array(repeating: 65, count: 4000)), state),
        ]
        for (cookie, state) in wrong {
            let result = try await authority.login(codes.arrival(cookie, state))
            #expect(result.problem == .visit)
        }
        house.clock.advance(.seconds(600))
        #expect(try await authority.login(codes.arrival(mine.visit, state)).problem == .visit)
        // Nobody was asked anything, and a stranger's requests leave nothing behind.
        #expect(codes.codes.isEmpty)
        #expect(try await house.audit("login.failed").isEmpty)
    }

    @Test("is finished by a replica whose clock is a minute behind, and not two", arguments: [
        (60, nil), (61, ProviderProblem.visit),
    ])
    func clocks(seconds: Int, problem: ProviderProblem?) async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house)
        let departure = try await authority.departure(to: codes.provider.name, isAgain: false)
        let state = codes.receive(departure)["state"]
        house.clock.advance(.seconds(-seconds))
        #expect(try await authority.login(codes.arrival(departure.visit, state)).problem == problem)
    }

    @Test("takes no token that was made for another login", arguments: [
        JSONValue.string("another"), .string(""), nil, .integer(1),
    ])
    func nonce(value: JSONValue?) async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        codes.answers(.token(changing: ["nonce": value]))
        #expect(try await codes.login(codes.authority(house)).problem == .token)
        #expect(try await house.audit("login.failed").count == 1)
    }

    @Test("takes no token of another client of ours", arguments: [
        ["aud": JSONValue.string("our-app")], ["azp": .string("our-app")],
        ["aud": .array([.string("our-app"), .string("us")]), "azp": .string("our-app")],
    ])
    func audience(changes: [String: JSONValue]) async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        codes.answers(.token(changing: changes))
        #expect(try await codes.login(codes.authority(house)).problem == .token)
    }

    @Test("tells which provider answered, where it says so")
    func issuer() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house)
        for wrong in ["https://other.example", IDProvider.issuer + "/", ""] {
            #expect(try await codes.login(authority, issuer: wrong).problem == .issuer)
        }
        codes.namesItself()
        #expect(try await codes.login(authority).problem == .issuer)
        #expect(codes.codes.isEmpty)
        #expect(try await codes.login(authority, issuer: IDProvider.issuer).problem == nil)
    }

    @Test("has a provider's errors by name, and never in its words", arguments: [
        ("access_denied", ProviderProblem.denied), ("login_required", .unfinished),
        ("temporarily_unavailable", .busy), ("invalid_scope", .refused),
        ("<script>alert(1)</script>", .refused),
    ])
    func errors(error: String, problem: ProviderProblem) async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        #expect(try await codes.login(codes.authority(house), error: error).problem == problem)
        #expect(codes.codes.isEmpty)
        let noted = try await house.audit("login.failed").map(\.detail)
        #expect(noted.count == 1)
        #expect(noted.allSatisfy { !$0.contains(error) })
    }

    @Test("makes no user where that is closed, and knows one who linked the identity")
    func nobody() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house, signUp: false)
        #expect(try await codes.login(authority).problem == .nobody)
        let ada = try await house.login()
        try await authority.link(codes.provider.proof(of: "7", house), from: "x", by: ada)
        #expect(try await codes.login(authority).get().user == ada.user)
        codes.answers(.problem(.code))
        #expect(try await codes.login(authority).problem == .code)
    }

    @Test("is limited, but not by a provider that is away")
    func limited() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house)
        codes.answers(.away)
        for _ in 0..<12 {
            await #expect(throws: AuthorityError.self) { try await codes.login(authority) }
        }
        for _ in 0..<10 {
            #expect(try await codes.login(authority, error: "access_denied").problem == .denied)
        }
        await expectRefusal(.rateLimit) { try await codes.login(authority) }
    }

    @Test("confirms only where the provider says that it just asked the person")
    func confirmation() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house)
        let now = house.clock.now
        let ages: [(JSONValue?, Bool)] = [
            (nil, false), (.time(now - .seconds(301)), false), (.time(now + .seconds(61)), false),
            (.time(now - .seconds(290)), true), (.time(now + .seconds(30)), true),
        ]
        for (time, confirms) in ages {
            codes.answers(.token(changing: ["auth_time": time]))
            let opened = try await codes.login(authority, isAgain: true).get()
            let caller = try await authority.caller(opened.token)
            let request = try await house.ask()
            let search = TypedCode(request.userCode, origin: "test")
            let deeds: [() async throws -> Void] = [
                { try await authority.answerLoginRequest(search, allows: true, by: caller) },
                { _ = try await authority.makeRecoveryCode(of: opened.user.username, by: caller) },
                { _ = try await authority.passkeyOptions(.register, by: caller) },
            ]
            for deed in deeds {
                if confirms {
                    try await deed()
                } else {
                    await expectRefusal(.validation) { try await deed() }
                }
            }
        }
    }

    @Test("confirms no more for a token that is sent to Parse's API")
    func confirmationOfClient() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        let authority = codes.authority(house)
        let now = house.clock.now
        let times: [(JSONValue?, Bool)] = [
            (nil, false), (.time(now - .seconds(301)), false), (.time(now), true),
        ]
        for (time, confirms) in times {
            var claims = IDProvider.claims(of: "7", at: now)
            claims["auth_time"] = time
            let proof = try codes.provider.proof(codes.provider.sign(claims))
            let opened = try await authority.enter(proof)
            let caller = try await authority.caller(opened.token)
            if confirms {
                _ = try await authority.makeRecoveryCode(of: opened.user.username, by: caller)
            } else {
                await expectRefusal(.validation) {
                    _ = try await authority.makeRecoveryCode(of: opened.user.username, by: caller)
                }
            }
        }
        // A provider without a button is for programs.
        let programs = house.believing(codes.provider)
        let opened = try await programs.enter(codes.provider.proof(of: "7", house))
        let caller = try await programs.caller(opened.token)
        _ = try await programs.makeRecoveryCode(of: opened.user.username, by: caller)
    }

    @Test("needs a button, and a page that keeps its cookie")
    func buttons() async throws {
        let house = try await House()
        let codes = try CodeProvider(house)
        #expect(codes.authority(house).loginWays.providers == [
            ProviderButton(
                name: codes.provider.name, title: "Face",
                address: "https://authority.example/postern/v1/console/providers/facebook"),
        ])
        let without = house.believing(codes.provider)
        #expect(without.loginWays.providers.isEmpty)
        await expectRefusal(.notFound) {
            try await without.departure(to: codes.provider.name, isAgain: false)
        }
    }
}

extension Result where Failure == ProviderProblem {
    fileprivate var problem: ProviderProblem? {
        if case .failure(let problem) = self { problem } else { nil }
    }
}
