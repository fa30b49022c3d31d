import Gate
import Sessions
import Testing

/// `ok`, or `CODE FIELD` of the fault.
private func verdict(
    _ fields: [String: FieldType], _ payload: [UInt8], _ operation: GateOperation = .create
) -> String {
    guard let fault = FieldRules(fields).fault(in: payload, of: operation) else { return "ok" }
    return "\(fault.code.rawValue)" + (fault.path.isEmpty ? "" : " \(fault.path)")
}

private func verdict(
    _ fields: [String: String], _ payload: String, _ operation: GateOperation = .create
) throws -> String {
    verdict(try fields.mapValues { try FieldType($0) }, Array(payload.utf8), operation)
}

@Suite("Field rules")
struct PayloadTests {
    private static let reading = ["celsius": "number", "unit": "string?"]

    @Test("judge names and types", arguments: [
        (#"{"celsius":21.5}"#, "ok"),
        (#" { "unit" : "C" , "celsius" : -0.0 } "#, "ok"),
        (#"{"celsius":21.5,"unit":null}"#, "ok"),
        (#"{"celsius":null}"#, "111 celsius"),
        (#"{"celsius":"21.5"}"#, "111 celsius"),
        (#"{"celsius":[1]}"#, "111 celsius"),
        (#"{"celsius":{}}"#, "111 celsius"),
        (#"{"celsius":true}"#, "111 celsius"),
        (#"{"unit":"C"}"#, "142 celsius"),
        ("{}", "142 celsius"),
        (#"{"celsius":1,"extra":2}"#, "119 extra"),
        (#"{"celsius":1,"Celsius":2}"#, "119 Celsius"),
        (#"{"celsius":1,"celsius":2}"#, "107 celsius"),
        (#"{"celsius":1,"\u0063elsius":2}"#, "107 celsius"),
        (#"{"\u0063elsius":1}"#, "ok"),
        (#"{"celsius":1,"\u0041CL":{}}"#, "119 ACL"),
        (#"{"celsius":1,"_method":"PUT"}"#, "119 _method"),
        (#"{"celsius":1,"_SessionToken":"x"}"#, "105 _SessionToken"),
        (#"{"celsius":1,"__type":"Object"}"#, "119 __type"),
        (#"{"celsius":{"__op":"Increment","amount":1}}"#, "111 celsius"),
        (#"{"celsius":1e308}"#, "ok"),
        (#"{"celsius":1e309}"#, "142 celsius"),
        (#"{"celsius":-1e999}"#, "142 celsius"),
        (#"{"celsius":1e-999}"#, "ok"),
        (#"[{"celsius":1}]"#, "111"),
        ("21.5", "111"),
        ("", "107"),
        ("{", "107"),
        (#"{"celsius":1}x"#, "107"),
        (#"{"celsius":1}{"celsius":1}"#, "107"),
        (#"{"celsius":1,}"#, "107"),
        (#"{"celsius":01}"#, "107"),
        (#"{"celsius":+1}"#, "107 celsius"),
        (#"{"celsius":NaN}"#, "107 celsius"),
        ("\u{FEFF}{\"celsius\":1}", "107"),
        ("celsius=1", "107"),
    ])
    func reading(payload: String, expected: String) throws {
        #expect(try verdict(Self.reading, payload) == expected)
    }

    @Test("let an update leave fields away, and a delete say nothing")
    func operations() throws {
        #expect(try verdict(Self.reading, #"{"unit":"C"}"#, .update) == "ok")
        #expect(try verdict(Self.reading, #"{"other":"C"}"#, .update) == "119 other")
        #expect(try verdict(Self.reading, "", .delete) == "ok")
        #expect(try verdict(Self.reading, "x", .delete) == "107")
        #expect(try verdict(Self.reading, "", .update) == "107")
    }

    @Test("judge ranges, lengths, lists and elements", arguments: [
        ("number(-40..85)", "-40", "ok"), ("number(-40..85)", "85.0", "ok"),
        ("number(-40..85)", "85.01", "142 v"), ("number(..0)", "0.001", "142 v"),
        ("integer", "3", "ok"), ("integer", "3.0", "111 v"), ("integer", "1e2", "111 v"),
        ("integer", "9007199254740991", "ok"), ("integer", "9007199254740992", "142 v"),
        ("integer(0..)", "-1", "142 v"), ("boolean", "false", "ok"), ("boolean", "0", "111 v"),
        ("null", "null", "ok"), ("null", "0", "111 v"),
        ("string(1..3)", #""""#, "142 v"), ("string(1..3)", #""€""#, "ok"),
        ("string(1..3)", #""\u20ac""#, "ok"), ("string(1..3)", #""€x""#, "142 v"),
        ("enum(C|F)", #""C""#, "ok"), ("enum(C|F)", #""\u0046""#, "ok"),
        ("enum(C|F)", #""K""#, "142 v"), ("enum(C|F)", "1", "111 v"),
        ("array", "[]", "ok"), ("array", #"[1,"a",null,{"b":[]}]"#, "ok"),
        ("array(number)", "[1,2]", "ok"), ("array(number)", #"[1,"2"]"#, "111 v[1]"),
        ("array(number(0..1), 1..2)", "[]", "142 v"),
        ("array(number(0..1), 1..2)", "[0,1]", "ok"),
        ("array(number(0..1), 1..2)", "[0,2]", "142 v[1]"),
        ("array(number(0..1), 1..2)", "[0,1,0]", "142 v"),
        ("object", #"{"a":{"b":1}}"#, "ok"), ("object", "[]", "111 v"),
        ("any", "null", "ok"), ("any", "[[[]]]", "ok"),
    ])
    func types(type: String, value: String, expected: String) throws {
        #expect(try verdict(["v": type], "{\"v\":\(value)}") == expected)
    }

    @Test("find what hides in a value that nobody typed", arguments: [
        (#"{"__op":"Delete"}"#, "119 v.__op"),
        (#"{"a":[{"__op":"Add"}]}"#, "119 v.a[0].__op"),
        (#"{"\u005f_op":"Delete"}"#, "119 v.__op"),
        (#"{"__type":"Pointer","className":"_User","objectId":"x"}"#, "119 v.className"),
        (#"{"className":"\u005fUser","__type":"Pointer"}"#, "119 v.className"),
        (#"{"__type":"Relation","className":"_Role"}"#, "119 v.className"),
        (#"{"__type":"Pointer","className":"Reading","objectId":"x"}"#, "ok"),
        (#"{"redirectClassName":"_Session"}"#, "119 v.redirectClassName"),
        (#"{"ACL":{"*":{"read":true}}}"#, "119 v.ACL"),
        (#"{"_method":"DELETE"}"#, "119 v._method"),
        (#"{"_ApplicationId":"x"}"#, "105 v._ApplicationId"),
        (#"{"requests":[{"method":"POST","path":"/classes/_User"}]}"#, "119 v.requests"),
        (#"{"requests":7}"#, "ok"),
        (#"{"a.b":1}"#, "105 v.a.b"), (#"{"$gt":1}"#, "105 v.$gt"), (#"{"":1}"#, "105 v"),
        (#"{"a\u0000":1}"#, "105 v.a\u{0}"),
        (#"{"a":1,"b":2,"a":3}"#, "107 v.a"),
        (#"{"a":1,"\u0061":3}"#, "107 v.a"),
        (#"{"a":{"b":1},"c":{"b":1}}"#, "ok"),
        (#"[1e400]"#, "142 v[0]"),
    ])
    func hidden(value: String, expected: String) throws {
        #expect(try verdict(["v": "any"], "{\"v\":\(value)}") == expected)
    }

    @Test("judge a field's own name first")
    func ownName() throws {
        #expect(try verdict(["className": "string"], #"{"className":"_User"}"#) == "119 className")
        #expect(try verdict(["className": "string"], #"{"className":"Good"}"#) == "ok")
        // A rule cannot list its way around the built-in refusals.
        #expect(try verdict(["ACL": "any"], #"{"ACL":{}}"#) == "119 ACL")
        #expect(try verdict(["_method": "any"], #"{"_method":1}"#) == "119 _method")
        #expect(FieldType.nameFault("ACL") != nil && FieldType.nameFault("_x") != nil)
        #expect(FieldType.nameFault("celsius") == nil)
    }

    @Test("allow 32 levels and no more")
    func depth() throws {
        func nested(_ count: Int) -> String {
            "{\"v\":" + String(repeating: "[", count: count)
                + String(repeating: "]", count: count) + "}"
        }
        #expect(try verdict(["v": "any"], nested(31)) == "ok")
        #expect(try verdict(["v": "any"], nested(32)).hasPrefix("107 v[0]"))
        #expect(try verdict(["v": "any"], nested(100_000)).hasPrefix("107 v[0]"))
    }

    @Test("bound the keys of an object that nobody typed")
    func members() throws {
        func object(_ count: Int) -> String {
            "{\"v\":{" + (0..<count).map { "\"k\($0)\":0" }.joined(separator: ",") + "}}"
        }
        #expect(try verdict(["v": "any"], object(512)) == "ok")
        #expect(try verdict(["v": "any"], object(513)) == "142 v")
    }

    @Test("know each of more fields than a machine word has bits")
    func manyFields() throws {
        let fields = Dictionary(uniqueKeysWithValues: try (100..<230).map {
            ("f\($0)", try FieldType("integer"))
        })
        let members = fields.keys.sorted().map { "\"\($0)\":1" }
        func judge(_ members: [String]) -> String {
            verdict(fields, Array("{\(members.joined(separator: ","))}".utf8))
        }
        #expect(judge(members) == "ok")
        for index in [0, 63, 64, 65, 129] {
            #expect(judge(members + [members[index]]) == "107 f\(100 + index)")
            #expect(judge(members.enumerated().filter { $0.0 != index }.map(\.1))
                == "142 f\(100 + index)")
        }
    }

    @Test("expect a nested object whole in an update, too")
    func nestedUpdate() throws {
        let place = FieldType(fields: ["lat": try FieldType("number")])
        func judge(_ text: String) -> String { verdict(["at": place], Array(text.utf8), .update) }
        #expect(judge("{}") == "ok")
        #expect(judge(#"{"at":{"lat":1}}"#) == "ok")
        #expect(judge(#"{"at":{}}"#) == "142 at.lat")
    }

    @Test("judge an object's own fields")
    func nestedFields() throws {
        let place = FieldType(fields: [
            "lat": try FieldType("number(-90..90)"), "name": try FieldType("string?"),
        ])
        func judge(_ text: String) -> String { verdict(["at": place], Array(text.utf8)) }
        #expect(judge(#"{"at":{"lat":1}}"#) == "ok")
        #expect(judge(#"{"at":{"lat":91}}"#) == "142 at.lat")
        #expect(judge(#"{"at":{"name":"x"}}"#) == "142 at.lat")
        #expect(judge(#"{"at":{"lat":1,"x":1}}"#) == "119 at.x")
        #expect(judge(#"{"at":7}"#) == "111 at")
    }

    @Test("refuse bytes that are not UTF-8, and half characters", arguments: [
        [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xE0, 0x80, 0x80], [0xE0, 0xA0],
        [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5], [0xFF],
        [0xE2, 0x28, 0xA1], [0xF0, 0x9F, 0x98],
    ] as [[UInt8]])
    func badUTF8(bytes: [UInt8]) throws {
        let payload = Array(#"{"v":""#.utf8) + bytes + Array(#""}"#.utf8)
        #expect(verdict(["v": try FieldType("any")], payload) == "107 v")
    }

    @Test("refuse escapes that mean no character", arguments: [
        #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800x""#, #""\u12g4""#, #""\x""#,
        #""\u12"#, "\"a\nb\"", "\"a\u{0}b\"", #""\"#,
    ])
    func badEscapes(value: String) throws {
        #expect(try verdict(["v": "any"], "{\"v\":\(value)}").hasPrefix("107"))
        #expect(try verdict(["v": "any"], "{\"v\":\(value)").hasPrefix("107"))
    }

    @Test("name a field in at most 128 bytes of whole characters")
    func longNames() throws {
        let name = String(repeating: "€", count: 60)
        let fault = FieldRules(["v": try FieldType("number")])
            .fault(in: Array("{\"\(name)\":1}".utf8), of: .create)
        #expect(fault?.path == String(repeating: "€", count: 42))
    }
}

@Suite("Field types")
struct FieldTypeTests {
    @Test("print to what they were parsed from", arguments: [
        "string", "string?", "string(1..64)", "string(..64)?", "number", "number(-40..85)",
        "number(0.5..)", "integer(0..100)?", "boolean", "null", "any", "any?", "enum(C|F)",
        "enum(a b|c)?", "array", "array(number)", "array(number(0..1), 1..8)?",
        "array(array(string(1..2), ..3))", "array(any, 2..)", "object", "object?",
    ])
    func inverse(text: String) throws {
        #expect(try FieldType(text).description == text)
    }

    @Test("refuse what is none", arguments: [
        "", "?", "strin", "String", "string??", "string(", "string()", "string(2..1)",
        "string(-1..2)", "string(1)", "string(1..2", "number(1..0)", "number(a..b)",
        "number(nan..1)", "number(..inf)", "number(..)", "integer(0.5..1)", "boolean(0..1)",
        "enum()", "enum", "enum(a|a)", "array()", "array(x)", "array(number, x)", "object(a)",
        String(repeating: "array(", count: 40) + "any" + String(repeating: ")", count: 40),
    ])
    func bad(text: String) {
        #expect(throws: GrammarError.self) { try FieldType(text) }
    }
}
