import Oracles

/// JSON documents of every kind, and texts that are none, as the known test suites for JSON
/// parsers have them. Source: RFC 8259.
enum JSONDocuments {
    /// Both take them.
    static let valid: [String] = structures + numbers + strings

    private static let structures = [
        "null", "true", "false", "{}", "[]", "[[]]", #"{"a":{}}"#, "[{}]", "[[],{}]",
        " [ ] ", "\t{\n}\r\n", " \t\n\r1\r\n\t ", #"{ "a" : 1 , "b" : [ 1 , 2 ] }"#,
        #"{"a":[{"b":[{"c":[]}]}]}"#, #"{"a":{"b":1},"c":{"b":1}}"#, "[null,true,false,0,\"\"]",
        #"{"a":null}"#, #"{"A":1,"a":2}"#, #"{"a b":1}"#, #"{"é":1,"\u0065\u0301":2}"#,
        #"{"__type":"Date","iso":"2026-01-01T00:00:00.000Z"}"#, #"{"className":"Reading"}"#,
        #"{"requests":1}"#, #"{"a/b":1}"#, #"{"longer key, with: punctuation {}[]":1}"#,
        String(repeating: "[", count: 32) + String(repeating: "]", count: 32),
        String(repeating: #"{"a":"#, count: 31) + "{}" + String(repeating: "}", count: 31),
    ]

    static let numbers = [
        "0", "-0", "1", "-1", "10", "123", "0.0", "-0.0", "0.5", "-0.5", "1.25", "10.01",
        "1e0", "1E0", "1e1", "1e+1", "1e-1", "1.5e3", "-1.5E-3", "0e0", "0e999", "-0e-0",
        "0.1e-1000000000000000000000", "1e-400", "4.9e-324", "2.2250738585072011e-308",
        "1.7976931348623157e308", "-1.7976931348623157e308", "1e00000000000000000001",
        "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "-9223372036854775809", "18446744073709551616", "123456789012345678901234567890",
        "0.1000000000000000055511151231257827021181583404541015625", "3.141592653589793238462643",
        "999999999999999", "9999999999999999", "0.000000000000001", "0.0000000000000001",
    ]

    static let strings = [
        #""""#, #"" ""#, #""a""#, #""\"""#, #""\\""#, #""\/""#, #""/""#, #""\b\f\n\r\t""#,
        #""\u0041""#, #""\u00e9""#, #""\u00E9""#, #""\u20ac""#, #""\ud83d\ude00""#,
        #""\uD83D\uDE00""#, #""\udbff\udfff""#, #""\ud800\udc00""#, #""\u0000""#, #""\u001f""#,
        #""\u007f""#, "\"\u{7f}\"", #""\ufeff""#, "\"\u{feff}\"", #""\uffff""#, #""\ufffe""#,
        "\"é\"", "\"e\u{301}\"", "\"€\"", "\"😀\"", "\"\u{10FFFF}\"", "\"\u{2028}\u{2029}\"",
        #""a\u0062c\\u0041""#, #""[]{}:,""#, #""\\\"\\""#, #""\\u0022""#,
        "\"" + String(repeating: "x", count: 5000) + "\"",
    ]

    /// Neither takes them.
    static let invalid: [String] = [
        "", " ", "\n", ",", ":", "]", "}", "[", "{", "\"", "[1", "[1,", "[,", "[,1]", "[1,,2]",
        "[1 2]", "[1:2]", "[1}", "{1]", #"{"a"}"#, #"{"a":}"#, #"{"a":1"#, #"{"a":1,"#, #"{"a"#,
        #"{"a""#, #"{"a":"#, #"{a:1}"#, "{'a':1}", "{1:1}", "{null:1}", #"{"a":1 "b":2}"#,
        #"{"a":1,,"b":2}"#, #"{,"a":1}"#, #"{"a"::1}"#, #"{"a":1}}"#, #"{"a":1}]"#, "[]]", "1 2",
        "1,", "[]x", "nul", "nulll", "Null", "NULL", "tru", "truE", "fals", "falsee", "nan",
        "NaN", "Infinity", "-Infinity", "inf", "undefined",
        "-", "+1", "+", "01", "-01", "00", "1.", "-1.", ".5", "-.5", "1.e1", "1e", "1e+", "1e-",
        "1E", "1ee1", "1e1.5", "1e1e1", "1.2.3", "0x10", "0b1", "1_000", "1,000", "--1", "1-",
        "1+1", "1f", "٣", "１", "1e400", "-1e400", "1E999999999999", "0.1e400",
        #""\a""#, #""\'""#, #""\x41""#, #""\0""#, #""\ ""#, #""\"#, #""\u""#, #""\u1"#,
        #""\u123""#, #""\u123g""#, #""\U0041""#, #""\u-123""#, #""\u+123""#, #""\u 123""#,
        #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800\n""#, #""\ud800x""#,
        #""\udc00\ud800""#, #""\ud800\u0041""#, #""\ud800\"#, #""\ud800\u""#, #""\ud800\udc""#,
        "\"\t\"", "\"\n\"", "\"\r\"", "\"\u{0}\"", "\"\u{1f}\"", "'a'", "`a`", "\"a", "a\"",
        "\"a\"b", #""a" "b""#, "/* */1", "1//", "// 1\n1", "#1", "1;", "<a/>", "\u{c}1",
        "1\u{c}", "\u{a0}1", "\u{2028}1", "\u{200b}1", "\u{1}1", "[\u{b}]", "{\u{85}}",
    ]

    /// Bytes that are not UTF-8, within a string. Source: RFC 3629 §3, §10.
    static let malformed: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xC3, 0x28],
        [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xE0, 0xA0], [0xE1, 0x80], [0xE2, 0x28, 0xA1],
        [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
        [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
        [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x28, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5], [0xF8],
        [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC], [0xFE], [0xFF], [0xFF, 0xFE],
    ].map { [0x22] + $0 + [0x22] }

    /// Foundation takes them and the scanner does not, each for a reason of its own.
    static let strict: [(bytes: [UInt8], reason: Strictness)] =
        strictTexts.map { (Array($0.0.utf8), $0.1) } + [
            ([0xEF, 0xBB, 0xBF, 0x31], .otherEncoding), ([0x31, 0], .otherEncoding),
            ([0, 0x31], .otherEncoding), ([0xFF, 0xFE, 0x31, 0], .otherEncoding),
            ([0xFE, 0xFF, 0, 0x31], .otherEncoding), ([0x31, 0, 0, 0], .otherEncoding),
            ([0x22, 0, 0x61, 0, 0x22, 0], .otherEncoding),
        ]

    private static let strictTexts: [(String, Strictness)] = [
        ("[1,]", .trailingComma), ("[1 ,\n]", .trailingComma), (#"{"a":1,}"#, .trailingComma),
        (#"{"a":1,"a":2}"#, .duplicateKey), (#"{"a":1,"\u0061":2}"#, .duplicateKey),
        (#"[{"é":1,"\u00e9":2}]"#, .duplicateKey),
        (String(repeating: "[", count: 33) + String(repeating: "]", count: 33), .tooDeep),
        (String(repeating: #"{"a":"#, count: 33) + "1" + String(repeating: "}", count: 33),
         .tooDeep),
        ("{" + (0...512).map { "\"k\($0)\":0" }.joined(separator: ",") + "}", .tooManyMembers),
        ("0." + String(repeating: "0", count: 1500), .longNumber),
        (#"{"":1}"#, .badKey), (#"{"_a":1}"#, .badKey), (#"{"a.b":1}"#, .badKey),
        (#"{"$a":1}"#, .badKey), (#"{"a\u0000":1}"#, .badKey), (#"{"\n":1}"#, .badKey),
        ("{\"" + String(repeating: "k", count: 129) + "\":1}", .badKey),
        (#"{"__op":"Delete"}"#, .serverKey), (#"{"\u005f_op":"Delete"}"#, .serverKey),
        (#"{"ACL":{}}"#, .serverKey), (#"{"_method":"PUT"}"#, .serverKey),
        (#"{"requests":[]}"#, .serverKey), (#"{"className":"_User"}"#, .protectedClass),
        (#"[{"redirectClassName":"\u005fRole"}]"#, .protectedClass),
    ]
}
