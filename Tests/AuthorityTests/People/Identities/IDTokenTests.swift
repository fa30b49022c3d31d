import AuthorityCore
import Cryptography
import Foundation
import Sessions
import Testing
import Wire

import AuthorityService

/// One thing that is not as it should be in an id token.
struct SpoiltToken: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fault: IDTokenFault?
    let claims: [String: JSONValue?]
    let header: [String: JSONValue?]

    init(
        _ name: String, _ fault: IDTokenFault?, _ claims: [String: JSONValue?] = [:],
        header: [String: JSONValue?] = [:]
    ) {
        testDescription = name
        self.fault = fault
        self.claims = claims
        self.header = header
    }

    /// Seconds from the moment at which the token is used.
    static func claim(_ name: String, in seconds: Int64) -> [String: JSONValue?] {
        [name: .integer(now + seconds)]
    }

    private static func lived(from begin: Int64, to end: Int64) -> [String: JSONValue?] {
        ["iat": .integer(now + begin), "exp": .integer(now + end)]
    }

    static let now: Int64 = 1_800_000_000
    private static let others: JSONValue = .array([.string("us"), .string("them")])

    static let spoiltClaims = [
        Self("another issuer", .otherIssuer, ["iss": .string("https://evil.example")]),
        Self("a slash more", .otherIssuer, ["iss": .string("https://login.example/")]),
        Self("capitals", .otherIssuer, ["iss": .string("https://Login.example")]),
        Self("no issuer", .malformed, ["iss": nil]),
        Self("another audience", .otherAudience, ["aud": .string("them")]),
        Self("part of an audience", .otherAudience, ["aud": .string("u")]),
        Self("our other name", nil, ["aud": .string("our-app")]),
        Self("a list of us", nil, ["aud": .array([.string("us")])]),
        Self("no audience", .malformed, ["aud": nil]),
        Self("an empty list", .malformed, ["aud": .array([])]),
        Self("a list of numbers", .malformed, ["aud": .array([.string("us"), .integer(1)])]),
        Self("several, made for nobody", .otherAudience, ["aud": others]),
        Self("several, made for them", .otherAudience, ["aud": others, "azp": .string("them")]),
        Self("several, made for us", nil, ["aud": others, "azp": .string("us")]),
        Self("several, we are not among them", .otherAudience,
             ["aud": .array([.string("a"), .string("b")]), "azp": .string("us")]),
        Self("us, made for our phone app", nil, ["azp": .string("phone-app")]),
        Self("a party that is a number", .malformed, ["azp": .integer(1)]),
        Self("expired, within the leeway", nil, lived(from: -400, to: -299)),
        Self("expired", .expired, lived(from: -400, to: -300)),
        Self("no end", .malformed, ["exp": nil]),
        Self("an end as text", .malformed, ["exp": .string("1800000600")]),
        Self("an end beyond all time", .malformed, ["exp": .number(1e300)]),
        Self("an end with a fraction", nil, ["exp": .number(1_800_000_600.5)]),
        Self("made at its own end", .malformed, lived(from: 30, to: 30)),
        Self("made in the future, within the leeway", nil, claim("iat", in: 60)),
        Self("made in the future", .notYet, claim("iat", in: 61)),
        Self("not yet, within the leeway", nil, claim("nbf", in: 60)),
        Self("not yet", .notYet, claim("nbf", in: 61)),
        Self("no beginning", .malformed, ["iat": nil]),
        Self("made yesterday", .tooOld, claim("iat", in: -86_400)),
        Self("made almost yesterday", nil, claim("iat", in: -86_399)),
        Self("nobody", .malformed, ["sub": nil]),
        Self("an empty subject", .noSubject, ["sub": .string("")]),
        Self("a subject of 255", nil, ["sub": .string(String(repeating: "s", count: 255))]),
        Self("a subject of 256", .noSubject, ["sub": .string(String(repeating: "s", count: 256))]),
        Self("a subject with a NUL", .noSubject, ["sub": .string("1\0")]),
        Self("a subject that is a number", .malformed, ["sub": .integer(1)]),
    ]

    static let spoiltHeaders = [
        Self("no type", nil, header: ["typ": nil]),
        Self("type in small letters", nil, header: ["typ": .string("jwt")]),
        Self("an access token", .wrongKind, header: ["typ": .string("at+jwt")]),
        Self("critical", .wrongKind, header: ["crit": .array([.string("exp")])]),
        Self("critical, of nothing", .wrongKind, header: ["crit": .null]),
        Self("b64", .wrongKind, header: ["b64": .bool(false)]),
        Self("no algorithm", .wrongKind, header: ["alg": nil]),
        Self("no key named", nil, header: ["kid": nil]),
        Self("another key", .unknownKey, header: ["kid": .string("k2")]),
        Self("a key that is a number", .wrongKind, header: ["kid": .integer(1)]),
    ] + ["none", "None", "HS256", "RS256", "PS256", "ES256", "ES512", "eddsa", ""].map {
        Self("alg \($0)", .wrongKind, header: ["alg": .string($0)])
    }
}

@Suite("ID token", .everyStoreInLong)
struct IDTokenTests {
    @Test("is judged by all that it says",
          arguments: SpoiltToken.spoiltClaims + SpoiltToken.spoiltHeaders)
    func judged(token: SpoiltToken) async throws {
        let house = try await House()
        let provider = try IDProvider()
        let claims = IDProvider.claims(of: "1", at: house.clock.now).merging(spoilt: token.claims)
        let text = try provider.sign(
            claims, header: IDProvider.header.merging(spoilt: token.header))
        let proof = try provider.proof(text)
        let authority = house.believing(provider)
        guard let fault = token.fault else {
            _ = try await authority.enter(proof)
            return
        }
        await expectRefusal(.notFound, saying: fault) { try await authority.enter(proof) }
        let noted = try await house.audit("login.failed")
        #expect(noted.map(\.detail) == ["x, facebook: \(fault.words)"])
    }

    @Test("says who the client says it is, if the client says so")
    func otherPerson() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let text = try provider.sign(IDProvider.claims(of: "1", at: house.clock.now))
        await expectRefusal(.notFound, saying: .otherPerson) {
            try await authority.enter(provider.proof(text, id: "2"))
        }
        _ = try await authority.enter(provider.proof(text, id: "1"))
    }

    @Test("is of no use when changed, signed by others, or no token at all")
    func forged() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let authority = house.believing(provider)
        let claims = IDProvider.claims(of: "1", at: house.clock.now)
        let good = try provider.sign(claims)
        let parts = good.split(separator: ".").map(String.init)
        let payload = Base64URL.encode(JSONValue.object(
            claims.merging(["sub": .string("2")]) { $1 }).bytes)
        let own = try JWS.sign(
            header: JSONValue.object(IDProvider.header).bytes, payload: Array("[]".utf8),
            with: provider.key)
        let rows: [(String, IDTokenFault)] = [
            (try provider.sign(claims, with: Ed25519PrivateKey()), .forged),
            ("\(parts[0]).\(payload).\(parts[2])", .forged), ("\(parts[0]).\(parts[1]).", .forged),
            ("\(parts[0]).\(parts[1])", .malformed), (good + ".", .malformed),
            (good + "=", .malformed), ("hello", .malformed), (own, .malformed),
            ("W10.\(parts[1]).\(parts[2])", .malformed),
        ]
        for (number, row) in rows.enumerated() {
            await expectRefusal(.notFound, saying: row.1) {
                try await authority.enter(provider.proof(row.0), from: "address \(number)")
            }
        }
        #expect(IDToken(String(repeating: "a", count: IDToken.limit + 1)) == nil)
        _ = try await authority.enter(provider.proof(good))
    }

    @Test("may be signed with RSA or on P-256 too, by the key's own algorithm alone",
          arguments: TestSigner.Kind.allCases)
    func otherKinds(kind: TestSigner.Kind) async throws {
        let house = try await House()
        let provider = try IDProvider()
        let signer = try TestSigner(kind)
        try provider.publish([IDProvider.jwk(provider.key.publicKey, "k1"), try signer.jwk("k2")])
        let authority = house.believing(provider)
        let claims = IDProvider.claims(of: "1", at: house.clock.now)
        for name in ["EdDSA", "RS256", "PS256", "ES256", "HS256", "none"] {
            let token = try signer.sign(claims, algorithm: name, kid: "k2")
            if name == kind.rawValue {
                _ = try await authority.enter(provider.proof(token))
            } else {
                await expectRefusal(.notFound, saying: .wrongKind) {
                    try await authority.enter(provider.proof(token))
                }
            }
        }
    }
}

extension IDTokenTests {
    @Test("does not serve again with another signature that verifies too")
    func otherSignature() async throws {
        let house = try await House()
        let provider = try IDProvider()
        let signer = try TestSigner(.es256)
        try provider.publish([try signer.jwk("k2")])
        let authority = house.believing(provider)
        let token = try signer.sign(
            IDProvider.claims(of: "1", at: house.clock.now), algorithm: "ES256", kid: "k2")
        let twin = try TestSigner.twin(of: token)
        #expect(twin != token)
        _ = try await authority.enter(provider.proof(token))
        await expectRefusal(.notFound, saying: .spent) {
            try await authority.enter(provider.proof(twin))
        }
    }
}

extension [String: JSONValue] {
    /// The members of `changes` in place of its own; nil takes one away.
    fileprivate func merging(spoilt changes: [String: JSONValue?]) -> Self {
        var result = self
        for (name, value) in changes { result[name] = value }
        return result
    }
}
