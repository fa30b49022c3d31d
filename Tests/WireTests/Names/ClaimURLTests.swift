import Sessions
import Testing
import Wire

@Suite("Claim URL")
struct ClaimURLTests {
    static let key = Base64URL.encode(Array(1...32))
    static let secret = Base64URL.encode(Array(101...132))
    static let good = url()

    /// A claim URL from its parts, each as it stands in the text.
    static func url(
        base: String = "https://a.example/claim", v: String = "v=1", i: String = Example.board,
        k: String = key, c: String = secret, n: String = "greenhouse"
    ) -> String {
        "\(base)#\(v)&i=\(i)&k=\(k)&c=\(c)&n=\(n)"
    }

    @Test("prints what it was parsed from", arguments: [
        good, url(base: ClaimURL.defaultBase), url(n: "Garten%20%C3%A4"), url(n: ""),
        url(n: "%F0%9F%8C%B1"), url(n: String(repeating: "x", count: 64)), url(n: "a%26b%3Dc%23"),
        url(base: "https://a.example:8443/x/claim?tenant=1"),
    ])
    func inverse(text: String) throws {
        let claim = try ClaimURL(text)
        #expect(claim.reveal() == text)
        #expect(try ClaimURL(claim.reveal()).reveal() == text)
        #expect(claim.installation.description == Example.board)
        #expect(claim.deviceKey == Array(1...32))
        #expect(claim.secret.reveal() == Array(101...132))
    }

    @Test("takes its members in any order, the name left out, and unknown ones besides")
    func tolerance() throws {
        let text = "x#zz=9&n=b&c=\(Self.secret)&k=\(Self.key)&i=\(Example.board)&v=1"
        #expect(try ClaimURL(text).name == "b")
        #expect(try ClaimURL("x#v=1&i=\(Example.board)&k=\(Self.key)&c=\(Self.secret)").name == "")
        #expect(try ClaimURL(Self.url(n: "%c3%a4")).name == "ä")
    }

    @Test("names the part that is wrong and repeats nothing of it", arguments: [
        ("", .missing("#")), ("postern://claim", .missing("#")), ("#" + "v=1", .missing("#")),
        (good + "#", .missing("#")), (good.replacing("#", with: "?"), .missing("#")),
        ("x#", .mistyped("#")), ("x#v=1&&i=", .mistyped("#")), ("x#v", .mistyped("#")),
        ("x#i=1", .missing("v")), (url(v: "v=2"), .mistyped("v")), (url(v: "v="), .mistyped("v")),
        (url(v: "v=01"), .mistyped("v")), (url(v: "v=１"), .mistyped("v")),
        (url(v: "V=1"), .missing("v")),
        (url().replacing("&i=", with: "&j="), .missing("i")), (url(i: ""), .mistyped("i")),
        (url(i: Example.board.uppercased()), .mistyped("i")), (url(i: "+"), .mistyped("i")),
        (url(i: "../x"), .mistyped("i")), (url(i: "９" + Example.board.dropFirst()), .mistyped("i")),
        (url().replacing("&k=", with: "&q="), .missing("k")), (url(k: ""), .mistyped("k")),
        (url(k: key + "="), .mistyped("k")), (url(k: String(key.dropLast())), .mistyped("k")),
        (url(k: key + "AA"), .mistyped("k")), (url(k: "а" + key.dropFirst()), .mistyped("k")),
        (url().replacing("&c=", with: "&q="), .missing("c")), (url(c: ""), .mistyped("c")),
        (url(c: secret + "\n"), .mistyped("c")), (url(c: "%41" + secret.dropFirst()),
        .mistyped("c")),
        (url(n: "%"), .mistyped("n")), (url(n: "%4"), .mistyped("n")),
        (url(n: "%zz"), .mistyped("n")), (url(n: "%FF"), .mistyped("n")),
        (url(n: "%C3"), .mistyped("n")), (url(n: "a%00b"), .mistyped("n")),
        (url(n: "a%0Ab"), .mistyped("n")), (url(n: "%1B%5B2J"), .mistyped("n")),
        (url(n: "%E2%80%AEevil"), .mistyped("n")), (url(n: "%EF%BB%BFx"), .mistyped("n")),
        (url(n: "%E2%80%A8"), .mistyped("n")), (url(n: String(repeating: "x", count: 65)),
        .mistyped("n")),
        (good + "&v=1", .mistyped("v")), (good + "&c=\(secret)", .mistyped("c")),
        (good + "&n=other", .mistyped("n")),
        (good + String(repeating: "x", count: 4096), .tooLarge(limit: 4096)),
    ] as [(String, WireError)])
    func refusals(text: String, error: WireError) {
        #expect(throws: error) { try ClaimURL(text) }
    }

    @Test("tells a person which part is wrong", arguments: [
        (.missing("#"), "this is no claim URL: it has no # with a board's code after it"),
        (.mistyped("#"), "the code is damaged or not complete: a part of it is malformed"),
        (.missing("v"), "the code is not complete: its version (v) is missing"),
        (.mistyped("v"), "the code has an unknown version (v); update Postern, or scan"),
        (.missing("i"), "the code is not complete: the board's id (i) is missing"),
        (.mistyped("i"), "the code is damaged or not complete: the board's id (i) is malformed"),
        (.missing("k"), "the code is not complete: the board's key (k) is missing"),
        (.mistyped("c"),
         "the code is damaged or not complete: the one-time secret (c) is malformed"),
        (.mistyped("n"), "the code is damaged or not complete: the board's name (n) is malformed"),
        (.tooLarge(limit: 4096), "this is no claim URL: it has more than 4096 bytes"),
    ] as [(WireError, String)])
    func words(error: WireError, words: String) {
        let told = ClaimURL.words(for: error)
        #expect(told.hasPrefix(words))
        #expect(told.hasSuffix("scan the code again, or copy the whole URL"))
    }

    @Test("shows nothing that moves a cursor, and 64 characters at most")
    func names() throws {
        let id = try #require(InstallationID(Example.board))
        let claim = ClaimURL(
            base: "x", installation: id, deviceKey: Array(1...32),
            secret: SecretBytes(Array(101...132)),
            name: "a\u{1B}[2J\n\u{202E}b\0" + String(repeating: "ä", count: 100))
        #expect(claim.name == "a[2Jb" + String(repeating: "ä", count: 59))
        #expect(try ClaimURL(claim.reveal()).name == claim.name)
    }

    @Test("has no description that shows its secret")
    func silence() throws {
        var said = "\(try ClaimURL(Self.good))"
        dump(try ClaimURL(Self.good), to: &said)
        #expect(!said.contains(Self.secret))
        #expect(!said.contains(Array(101...132).map(String.init).joined(separator: ", ")))
    }

    @Test("percent-encodes every byte back to itself")
    func percent() {
        let text = String(decoding: Array(UInt8(0)...127), as: UTF8.self) + "äé漢🌱"
        #expect(PercentEncoding.decode(PercentEncoding.encode(text)) == text)
        #expect(PercentEncoding.encode("a-Z_0.~ /") == "a-Z_0.~%20%2F")
    }
}
