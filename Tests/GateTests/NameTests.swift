import Gate
import Testing

@Suite("Names")
struct NameTests {
    /// Texts that look like a name, or hide one, and are none.
    static let lookalikes = [
        "", "_", "__User", "_User/../x", "_User\u{0}", "\u{0}_User", "Read\u{0}ing", "+", "#",
        "Reading/+", "Rea ding", " Reading", "Reading ", "Reading\n", "_\u{200B}User",
        "_U\u{200D}ser", "\u{FEFF}_User", "_Us\u{435}r", "_\u{FF35}ser", "\u{FF3F}User",
        "R\u{E9}ading", "Re\u{301}ading", "1Reading", "_1", "Reading-1", "Reading.x", "$Reading",
        "*", "Ⅷ", String(repeating: "a", count: 200), "_" + String(repeating: "a", count: 129),
    ]

    @Test("of classes refuse look-alikes", arguments: lookalikes)
    func lookalike(text: String) {
        #expect(ClassName(text) == nil)
    }

    @Test("of apps refuse look-alikes", arguments: lookalikes.filter { $0 != "1Reading" } + [
        "Thermo", "-thermo", "thermo_1", "thermo/x", "th\u{435}rmo", "thermo\u{0}",
        String(repeating: "a", count: 33),
    ])
    func appLookalike(text: String) {
        #expect(AppName(text) == nil)
    }

    @Test("of classes print as they were parsed", arguments: [
        "A", "z", "_A", "Reading", "_User", "A_1", "A" + String(repeating: "9", count: 127),
        "_" + String(repeating: "a", count: 128),
    ])
    func classes(text: String) throws {
        #expect(try #require(ClassName(text)).description == text)
    }

    @Test("of apps print as they were parsed", arguments: [
        "a", "0", "thermo", "a-", "a-b-c", String(repeating: "z", count: 32),
    ])
    func apps(text: String) throws {
        #expect(try #require(AppName(text)).description == text)
    }

    @Test("tell what is protected and what is reserved", arguments: [
        ("_User", true, true), ("_Session", true, true), ("_Role", true, true),
        ("_Installation", false, true), ("_user", false, true), ("_Join", false, true),
        ("User", false, false), ("Reading", false, false),
    ])
    func protection(text: String, isProtected: Bool, isReserved: Bool) throws {
        let name = try #require(ClassName(text))
        #expect(name.isProtected == isProtected)
        #expect(name.isReserved == isReserved)
    }
}

@Suite("Quantities")
struct QuantityTests {
    @Test("of bytes print to what parses to the same", arguments: [
        0, 1, 1023, 1024, 4096, 65_536, 1_048_576, 1_048_577, 1 << 30, 3 << 30,
    ])
    func bytes(count: Int64) throws {
        let value = ByteCount(bytes: count)
        #expect(try ByteCount(value.description) == value)
    }

    @Test("of bytes refuse what is none", arguments: [
        "", "KiB", "-1", "1.5 KiB", "64 kib", "64KiBs", "９ KiB", "99999999999999999999",
        "9999999999 GiB", "1 2", " 1",
    ])
    func badBytes(text: String) {
        #expect(throws: GrammarError.self) { try ByteCount(text) }
    }

    @Test("of time print to what parses to the same", arguments: [
        "1/s", "100/s", "6/min", "1000/h", "1000000/s",
    ])
    func rates(text: String) throws {
        #expect(try Rate(text).description == text)
    }

    @Test("of time refuse what is none", arguments: [
        "", "/s", "0/s", "-1/s", "1/d", "1/", "1", "1/s/s", "1000001/s", "1 /s", "+1/s",
    ])
    func badRates(text: String) {
        #expect(throws: GrammarError.self) { try Rate(text) }
    }
}
