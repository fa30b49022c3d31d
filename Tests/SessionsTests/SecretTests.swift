import Sessions
import Testing

@Suite("Secrets")
struct SecretTests {
    static let text = "r:Zx81bTzz-secret-9Qk"

    @Test("a token is its prefix and more, in printable ASCII, up to its limit", arguments: [
        ("r:x", true), (text, true), ("r:" + String(repeating: "x", count: 1022), true),
        ("r:" + String(repeating: "x", count: 1023), false), ("", false), ("r:", false),
        ("rt:x", false), ("R:x", false), (" r:x", false), ("r:x ", false), ("r:x\n", false),
        ("r:\0", false), ("r:ü", false), ("x:r:", false),
    ])
    func session(text: String, isOne: Bool) {
        #expect(SessionToken(text)?.reveal() == (isOne ? text : nil))
    }

    @Test("each kind of token has its own form")
    func kinds() {
        #expect(RefreshToken("rt:abc")?.reveal() == "rt:abc")
        #expect(RefreshToken("rt:") == nil)
        #expect(RefreshToken("r:abc") == nil)
        #expect(AccessToken("") == nil)
        #expect(AccessToken(String(repeating: "x", count: 16 * 1024)) != nil)
        #expect(AccessToken(String(repeating: "x", count: 16 * 1024 + 1)) == nil)
    }

    @Test("tokens match only what is the same", arguments: [
        ("r:abcdef", "r:abcdef", true), ("r:abcdef", "r:abcdeg", false),
        ("r:abcdef", "r:bbcdef", false), ("r:abcdef", "r:abcde", false),
        ("r:abcdef", "r:abcdef0", false),
    ])
    func matching(left: String, right: String, same: Bool) throws {
        let (left, right) = (try #require(SessionToken(left)), try #require(SessionToken(right)))
        #expect(left.matches(right) == same)
        #expect(right.matches(left) == same)
    }

    @Test("secret bytes match by value, the empty ones too")
    func bytes() {
        let bytes = Array(UInt8(0)...255)
        #expect(SecretBytes(bytes).matches(SecretBytes(bytes)))
        #expect(SecretBytes([]).matches(SecretBytes([])))
        #expect(!SecretBytes([]).matches(SecretBytes([0])))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            #expect(!SecretBytes(bytes).matches(SecretBytes(other)))
        }
        #expect(SecretBytes(bytes).reveal() == bytes)
        #expect(SecretBytes(bytes).count == 256)
    }

    @Test("no description, dump or mirror shows a secret")
    func silence() throws {
        let token = try #require(SessionToken(Self.text))
        let bytes = SecretBytes(Array(Self.text.utf8))
        let refresh = try #require(RefreshToken("rt:" + Self.text))
        let access = try #require(AccessToken(Self.text))
        var said = ""
        for value in [token, bytes, refresh, access, [token], ["key": bytes],
            Optional.some(token) as Any] as [Any]
        {
            said += String(describing: value) + String(reflecting: value) + "\(value)"
            dump(value, to: &said)
            said += Mirror(reflecting: value).children.map { "\($0)" }.joined()
        }
        #expect(!said.contains("secret-9Qk"))
        #expect(!said.contains(Array(Self.text.utf8).map(String.init).joined(separator: ", ")))
        #expect(said.contains("(secret)"))
    }
}

@Suite("Lifetimes and refusals")
struct LifetimeTests {
    @Test("there are four presets", arguments: [
        ("device", 3600, nil, 365 * 86_400),
        ("consumer", 3600, 30 * 86_400, 5 * 86_400), ("high-security", 300, 86_400, 1800),
        ("long-lived", 3600, 180 * 86_400, nil),
    ] as [(String, Int64, Int64?, Int64?)])
    func presets(name: String, access: Int64, absolute: Int64?, idle: Int64?) throws {
        let policy = try #require(LifetimePolicy(preset: name))
        #expect(policy == LifetimePolicy(
            access: .seconds(access), absolute: absolute.map { .seconds($0) },
            idle: idle.map { .seconds($0) }))
        #expect(LifetimePolicy(preset: name.uppercased()) == nil)
    }

    @Test("206 stands for a board never claimed, 209 for every session that is over")
    func codes() {
        for reason in UnavailableReason.allCases {
            #expect(reason.code == (reason == .unclaimed ? .sessionMissing : .invalidSession))
        }
        #expect(UnavailableReason.allCases.map(\.rawValue) == [
            "unclaimed", "expired", "revoked", "signed-out", "reuse", "unreadable", "offline",
        ])
        #expect(Refusal(code: 209, text: "").is(.invalidSession))
        #expect(!Refusal(code: 1, text: "").is(.invalidSession))
        #expect(ErrorCode.allCases.map(\.rawValue)
            == [101, 103, 105, 107, 111, 116, 119, 140, 142, 155, 206, 209])
    }
}
