import Testing

@testable import AuthorityCore

@Suite("User names")
struct UsernameTests {
    @Test("are any text that people can see", arguments: [
        "ada", "ada@example.com", "ada+board@example.com", "Ada Lovelace", "-x", "a/b", "#", "+",
        "$SYS", "Жанна", "王小明", "שרה", "مريم", "naïve", "🦊", "O'Brien \"x\" <y>&z", "%2F",
        "'; --",
        String(repeating: "a", count: 256), String(repeating: "é", count: 128),
    ])
    func usable(text: String) {
        #expect(Username(text)?.description == text)
    }

    @Test("hide nothing, move nothing and are nobody else's", arguments: [
        "", " ", "\u{a0}\u{2003}", "a\u{0}", "a\nb", "a\tb", "\u{7f}", "a\u{85}", "a\u{200b}b",
        "a\u{202e}b", "\u{2066}a", "a\u{feff}", "a\u{200d}b", "a\u{ad}b", "a\u{2028}b", "\u{e000}",
        "\u{378}", "\u{e0041}", "\u{3164}", ".", "..", "authority", "Board", "console", "init",
        "the master  key", "unknown", String(repeating: "a", count: 257),
        String(repeating: "é", count: 129), String(repeating: "e\u{301}", count: 257),
    ])
    func unusable(text: String) {
        #expect(Username(text) == nil)
    }

    @Test("are the same if they look the same", arguments: [
        ("ada", "ADA"), ("José", "Jose\u{301}"), ("\u{212b}", "å"), ("ada", " ada "),
        ("ada b", "ada\u{a0}\u{3000}b"), ("ж", "Ж"), ("가", "\u{1100}\u{1161}"),
        ("a\u{300}\u{323}", "a\u{323}\u{300}"), ("ada\u{34f}", "ada"), ("☀", "☀\u{fe0f}"),
        ("e\u{34f}\u{301}", "é"),
    ])
    func same(one: String, other: String) throws {
        #expect(try #require(Username(one)).key == #require(Username(other)).key)
        #expect(try #require(Username(one)).description.unicodeScalars.count
            <= one.unicodeScalars.count)
    }

    @Test("differ if they look different", arguments: [
        ("ada", "ada1"), ("ada", "a da"), ("resume", "résumé"), ("a+b", "a b"),
    ])
    func different(one: String, other: String) {
        #expect(Username.key(of: one) != Username.key(of: other))
    }

    @Test("are kept in one form")
    func form() throws {
        let name = try #require(Username("Jose\u{301}"))
        #expect(Array(name.description.utf8) == Array("Jos\u{e9}".utf8))
    }
}

@Suite("E-mail addresses")
struct EmailAddressTests {
    @Test("have a name, one @ and a host", arguments: [
        ("ada@example.com", true), ("a@b", true), ("ada+x@example.com", true),
        ("ж@пример.рф", true),
        ("@b", false), ("a@", false), ("@", false), ("a", false), ("", false), ("a@b@c", false),
        ("a b@c", false), ("a@b\n", false), ("a@b\u{a0}", false), ("a\u{202e}@b", false),
        (String(repeating: "a", count: 252) + "@b", true),
        (String(repeating: "a", count: 253) + "@b", false),
    ])
    func form(text: String, isOne: Bool) {
        #expect((EmailAddress(text) != nil) == isOne)
    }

    @Test("are the same in upper and lower case")
    func same() {
        #expect(EmailAddress("Ada@Example.com")?.key == EmailAddress("ada@example.COM")?.key)
    }
}
