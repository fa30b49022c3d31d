import AgentCore
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Access token of a refresh")
struct TokenTests {
    private func refreshing(life: Duration = .seconds(3600)) throws -> (Bench, BoardMessage) {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        var provision = try bench.authority.provision()
        provision.tokens = try bench.authority.tokens(
            for: provision.session, generation: 1, at: bench.wall, life: life)
        var effects = bench.handle(.inbox(
            try bench.authority.seal(.provision(provision), claim: claim)))
        for _ in 0..<3000 {
            // Both may be due in one second. An open heartbeat would be no second one.
            let sent = try bench.sent(effects)
            for message in sent where message.body.name == "authenticate" {
                try bench.answer(message)
            }
            if let refresh = sent.first(where: { $0.body.name == "refresh" }) {
                return (bench, refresh)
            }
            effects = bench.run(for: .seconds(1))
        }
        throw Missing()
    }

    private struct Missing: Error {}

    @Test("is not taken when it is signed, issued or made for another; the refresh token is",
          arguments: 0..<4)
    func foreign(index: Int) throws {
        var (bench, message) = try refreshing()
        let held = try #require(try bench.store.load().session)
        var claims = try bench.authority.claims(for: held.session, 2, at: bench.wall)
        var header: [UInt8]?
        switch index {
        case 0: claims.issuer = "Elsewhere"
        case 1: claims.session = try #require(ObjectID("Other00001"))
        case 2: claims.deviceKey = KeyID(digest: Array(0..<32))
        default: header = AccessTokenHeader(kid: try #require(KeyID("k9"))).bytes
        }
        let text = try bench.authority.accessToken(claims, header: header)
        let effects = try bench.grant(message, generation: 2) { result in
            result.accessToken = AccessToken(text)
        }
        #expect(effects.kinds.contains("log"))
        let after = try #require(try bench.store.load().session)
        #expect(after.tokens.refresh.reveal() == "rt:secret-Session001-2")
        #expect(after.tokens.access.reveal() == held.tokens.access.reveal())
        #expect(after.pendingRefresh == nil)
        let asked = try bench.sent(effects).filter { $0.body.name == "authenticate" }
        #expect(asked.count == 1)
        // Once: the next such refresh, a minute later, asks for nothing more.
        try bench.answer(try #require(asked.first))
        let later = try bench.sent(bench.run(for: .seconds(62)))
        let second = try #require(later.first { $0.body.name == "refresh" })
        let again = try bench.grant(second, generation: 3) { result in
            result.accessToken = AccessToken(text)
        }
        #expect(try bench.sent(again).isEmpty)
        #expect(try bench.sent(bench.run(for: .seconds(50))).allSatisfy {
            $0.body.name != "refresh"
        })
    }

    @Test("is not taken with one claim or header member spoilt", arguments: [
        ("claim", "iss", .string("Elsewhere")), ("claim", "sub", .string("bob")),
        ("claim", "aud", .string("other")), ("claim", "aud", .array([.string("postern")])),
        ("claim", "sid", .string("Other00001")), ("claim", "restricted", .bool(false)),
        ("claim", "iid", .string("9b2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b")),
        ("claim", "cnf", .object(["kid": .string("AAAAAAAAAAA")])),
        ("claim", "exp", .integer(1_800_000_000)), ("claim", "nbf", .integer(1_900_000_000)),
        ("claim", "exp", .string("soon")), ("claim", "nbf", nil), ("claim", "exp", nil),
        ("claim", "iss", nil), ("claim", "aud", nil), ("claim", "sid", nil),
        ("claim", "iid", nil), ("claim", "cnf", nil), ("claim", "restricted", nil),
        ("claim", "jti", nil), ("claim", "sub", nil), ("claim", "iat", nil),
        ("header", "alg", .string("none")), ("header", "alg", .string("HS256")),
        ("header", "alg", .string("RS256")), ("header", "alg", nil),
        ("header", "typ", .string("JWT")), ("header", "typ", nil),
        ("header", "kid", .string("k9")), ("header", "kid", nil),
        ("header", "crit", .array([])),
        ("claim", "extra", .string("harmless")),
    ] as [(String, String, JSONValue?)])
    func spoilt(part: String, name: String, value: JSONValue?) throws {
        var (bench, message) = try refreshing()
        let held = try #require(try bench.store.load().session)
        let claims = try bench.authority.claims(for: held.session, 2, at: bench.wall)
        var members = try JSONObject(parsing: claims.bytes).members
        var header = try JSONObject(
            parsing: AccessTokenHeader(kid: bench.authority.kid).bytes).members
        if part == "claim" { members[name] = value } else { header[name] = value }
        let text = try JWS.sign(
            header: JSONValue.object(header).bytes, payload: JSONValue.object(members).bytes,
            with: bench.authority.signKey)
        try bench.grant(message, generation: 2) { $0.accessToken = AccessToken(text) }
        let after = try #require(try bench.store.load().session)
        #expect((after.tokens.access.reveal() == text) == (name == "extra"))
        #expect(after.tokens.refresh.reveal() == "rt:secret-Session001-2")
    }

    @Test("of a key not known yet is taken once the keys come, without a second rotation")
    func setAside() throws {
        var (bench, message) = try refreshing()
        let held = try #require(try bench.store.load().session)
        let next = try TestAuthority(board: bench.identity, kid: "k2")
        let text = try next.accessToken(
            try bench.authority.claims(for: held.session, 2, at: bench.wall))
        let effects = try bench.grant(message, generation: 2) {
            $0.accessToken = AccessToken(text)
        }
        let asked = try #require(
            try bench.sent(effects).first { $0.body.name == "authenticate" })
        #expect(try bench.store.load().session?.tokens.access.reveal() != text)
        var result = Reply.Result()
        result.session = held.session
        result.user = held.user
        let reply = Reply(
            re: asked.id, now: bench.wall, outcome: .result(result),
            signKeys: bench.authority.pinned.signKeys + next.pinned.signKeys)
        bench.handle(.inbox(try bench.authority.seal(.reply(reply))))
        #expect(try bench.store.load().session?.tokens.access.reveal() == text)
        let later = try bench.sent(bench.run(for: .seconds(150)))
        #expect(!later.contains { $0.body.name == "refresh" })
    }

    @Test("that comes late, ended long ago, is no reason to hurry or to ask for keys")
    func late() throws {
        var (bench, message) = try refreshing()
        let held = try #require(try bench.store.load().session)
        let text = try bench.authority.accessToken(
            try bench.authority.claims(for: held.session, 2, at: bench.wall - .seconds(9000)))
        let effects = try bench.grant(message, generation: 2) {
            $0.accessToken = AccessToken(text)
        }
        #expect(try bench.sent(effects).isEmpty)
        #expect(bench.store.text.contains("rt:secret-Session001-2"))
        let later = try bench.sent(bench.run(for: .seconds(61)))
        #expect(later.filter { $0.body.name == "refresh" }.count == 1)
    }

    @Test("whose key is pinned no longer is replaced within a minute")
    func unpinned() throws {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        let held = try #require(try bench.store.load().session)
        var result = Reply.Result()
        result.session = held.session
        result.user = held.user
        let key = try Ed25519PrivateKey().publicKey.rawRepresentation
        let reply = Reply(
            re: try #require(sent.last).id, now: bench.wall, outcome: .result(result),
            signKeys: [SigningKey(kid: try #require(KeyID("k2")), key: key)])
        bench.handle(.inbox(try bench.authority.seal(.reply(reply))))
        let later = try bench.sent(bench.run(for: .seconds(61)))
        #expect(later.filter { $0.body.name == "refresh" }.count == 1)
    }

    @Test("that lives for thirty seconds is replaced before it ends; a dead one not at once",
          arguments: [(30, 5, 30), (1, 5, 6)] as [(Int64, Int64, Int64)])
    func short(life: Int64, earliest: Int64, latest: Int64) throws {
        var (bench, message) = try refreshing(life: .seconds(30))
        let before = bench.monotonic
        try bench.grant(message, generation: 2, life: .seconds(life))
        while try bench.sent(bench.run(for: .milliseconds(500))).isEmpty,
            bench.monotonic - before < .seconds(100) {}
        let wait = bench.monotonic - before
        #expect(wait >= .seconds(earliest) && wait <= .seconds(latest))
    }

    @Test("of another issuer refuses a renewal from the pinned key")
    func renewal() throws {
        var bench = try Bench()
        try bench.provision()
        var next = try bench.authority.provision(session: "Session002", sequence: 101)
        var claims = try bench.authority.claims(for: next.session, at: bench.wall)
        claims.issuer = "Elsewhere"
        next.tokens.access = try #require(AccessToken(try bench.authority.accessToken(claims)))
        let effects = bench.handle(.inbox(try bench.authority.seal(.provision(next))))
        #expect(try bench.sent(effects).map(\.body.name) == ["rejected"])
        #expect(effects.commits.isEmpty)
    }
}
