import Sessions
import Testing
import Wire

@Suite("JSON of a peer")
struct JSONCodingTests {
    private static let read: [(String, JSONValue)] = [
        ("{}", .object([:])), ("[]", .array([])), ("0", .integer(0)), ("-7", .integer(-7)),
        (" true\n", .bool(true)), ("null", .null), ("\"\"", .string("")),
        ("{\"naïve\":\"温室\"}", .object(["naïve": .string("温室")])),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .number(9_223_372_036_854_775_808)),
        ("1.5", .number(1.5)), ("-2.5e-3", .number(-0.0025)), ("5.0", .integer(5)),
        ("1e3", .integer(1000)), ("6e16", .number(6e16)),
        ("-0", .integer(0)), ("1e300", .number(1e300)),
        ("\"a\\n\\u00e9\\ud83e\\udeb4\\/\"", .string("a\n\u{e9}🪴/")),
        ("\t{ \"a\" : [ 1 , 2 ] }\r\n", .object(["a": .array([.integer(1), .integer(2)])])),
        ("\"\u{7f}\u{2028}\"", .string("\u{7f}\u{2028}")),
    ]

    @Test("is read, escapes and fractions included", arguments: read)
    func reading(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)) == value)
    }

    @Test("is refused where it is not JSON, or has two meanings", arguments: [
        "", " ", "{", "}", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "01", "-", "1.",
        ".5", "+1", "1e", "tru", "nulls", "\"a", "\"a\nb\"", "\"\\x\"", "1 2", "[1 2]", "{1:2}",
        "1,", "/**/1", "Infinity", "NaN", "1e999", "\"\\ud800\"", "\"\\udc00\\ud800\"",
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "{\"e\u{301}\":1,\"\u{e9}\":2}",
        "\u{feff}1", "\u{0}1",
    ])
    func refused(text: String) {
        #expect(throws: WireError.notJSON) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test("is UTF-8 and nothing else", arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
        [0x22, 0xE2, 0x82, 0x22], [0x30, 0x00], [0xFE, 0xFF, 0x00, 0x30], [0x30, 0x00, 0x00, 0x00],
    ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(throws: WireError.notJSON) { try JSONValue(parsing: bytes) }
    }

    @Test("may nest 32 levels, and no deeper", arguments: ["1", "1.5", "\"\\n\""])
    func depth(inside: String) throws {
        func nested(_ levels: Int) -> [UInt8] {
            let open = String(repeating: #"{"[{\"":["#, count: levels / 2)
            return Array((open + inside + String(repeating: "]}", count: levels / 2)).utf8)
        }
        _ = try JSONValue(parsing: nested(32))
        #expect(throws: WireError.notJSON) { try JSONValue(parsing: nested(34)) }
    }

    @Test("has a bound on its bytes and on its values")
    func bounds() throws {
        let text = Array(("[" + String(repeating: "1,", count: 9) + "1]").utf8)
        _ = try JSONValue(parsing: text, limit: text.count, values: 11)
        #expect(throws: WireError.tooLarge(limit: text.count - 1)) {
            try JSONValue(parsing: text, limit: text.count - 1)
        }
        #expect(throws: WireError.notJSON) { try JSONValue(parsing: text, values: 10) }
    }

    @Test("is written without spaces, members in order, and reads back", arguments: [
        (JSONValue.number(21.5), "21.5"), (.number(1e100), "1e+100"), (.number(5), "5"),
        (.number(.infinity), "null"), (.integer(.min), "-9223372036854775808"),
        (.string("\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}\"\\/"),
         "\"\\b\\t\\n\\f\\r\\u0000\\u001f\u{7f}\\\"\\\\/\""),
        (.object(["b": .null, "a": .array([.bool(true), .object([:])])]),
         "{\"a\":[true,{}],\"b\":null}"),
    ])
    func written(value: JSONValue, text: String) throws {
        #expect(value.text == text)
        let isReadBack = try JSONValue(parsing: Array(text.utf8)) == value
        #expect(isReadBack || value == .number(5) || value == .number(.infinity))
    }
}
