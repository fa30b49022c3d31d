import Sessions
import Testing
import Wire

@Suite("Access token")
struct AccessTokenTests {
    static let header: [String: JSONValue] = ["alg": "EdDSA", "typ": "at+jwt", "kid": "k1"]

    static let claims = Sample(
        description: "claims",
        json: [
            "iss": "Home", "sub": "User000001", "aud": "postern", "iat": Example.time,
            "nbf": Example.time, "exp": 1_700_000_600, "jti": "t1", "sid": "Session001",
            "iid": .string(Example.board), "restricted": .bool(true), "scope": Example.scope,
            "cnf": .object(["kid": "AAECAwQFBgc"]),
        ],
        members: [
            Member("iss", .text), Member("sub", .text, refuses: ["", "a/b"]),
            Member("aud", .text, refuses: ["", "Postern", "other"]), Member("iat", .time),
            Member("nbf", .time), Member("exp", .time), Member("jti", .text),
            Member("sid", .text, refuses: ["x"]), Member("iid", .text, refuses: ["x"]),
            Member("restricted", .flag), Member("scope", .object, optional: true),
            Member("cnf", .object), Member("cnf.kid", .text, refuses: [""]),
        ]
    ) { bytes throws(WireError) in try AccessTokenClaims(parsing: bytes).bytes }

    @Test("has a header that prints what it was parsed from")
    func headerInverse() throws {
        let bytes = JSONValue.object(Self.header).bytes
        let header = try AccessTokenHeader(parsing: bytes)
        #expect(header.bytes == bytes)
        #expect(header.kid.description == "k1")
    }

    @Test("has no other algorithm and no other type", arguments: [
        ("alg", "none"), ("alg", "None"), ("alg", "RS256"), ("alg", "HS256"), ("alg", "ES256"),
        ("alg", "eddsa"), ("alg", "Ed25519"), ("alg", ""), ("alg", .array(["EdDSA"])),
        ("alg", .bool(true)), ("typ", "JWT"), ("typ", "at+JWT"), ("typ", "application/at+jwt"),
        ("typ", ""), ("typ", 1), ("kid", ""), ("kid", "a b"), ("kid", 7), ("crit", .array(["exp"])),
        ("crit", .array([])), ("crit", "x"),
    ] as [(String, JSONValue)])
    func headerRefusals(name: String, value: JSONValue) {
        var json = Self.header
        json[name] = value
        #expect(throws: WireError.mistyped(name)) {
            try AccessTokenHeader(parsing: JSONValue.object(json).bytes)
        }
    }

    @Test("names the member of the header that is missing", arguments: ["alg", "typ", "kid"])
    func headerMissing(name: String) {
        var json = Self.header
        json[name] = nil
        #expect(throws: WireError.missing(name)) {
            try AccessTokenHeader(parsing: JSONValue.object(json).bytes)
        }
    }

    @Test("ignores keys that a header brings along", arguments: ["jwk", "jku", "x5u", "x5c"])
    func broughtKeys(name: String) throws {
        var json = Self.header
        json[name] = "https://evil.example"
        let header = try AccessTokenHeader(parsing: JSONValue.object(json).bytes)
        #expect(header == AccessTokenHeader(kid: try #require(KeyID("k1"))))
    }

    @Test("has claims that print what they were parsed from")
    func claimsInverse() throws {
        #expect(try Self.claims.copy(Self.claims.bytes) == Self.claims.bytes)
        let claims = try AccessTokenClaims(parsing: Self.claims.bytes)
        #expect(claims.expiresAt - claims.issuedAt == .seconds(600))
        #expect(claims.notBefore == claims.issuedAt)
    }

    @Test("names the claim that is missing or malformed")
    func claimMembers() {
        for member in Self.claims.members {
            if !member.isOptional {
                #expect(throws: WireError.missing(member.name), "\(member)") {
                    try Self.claims.copy(Self.claims.bytes(member, nil))
                }
            }
            for value in member.refused {
                #expect(throws: WireError.mistyped(member.name), "\(member) = \(value)") {
                    try Self.claims.copy(Self.claims.bytes(member, value))
                }
            }
        }
    }
}
