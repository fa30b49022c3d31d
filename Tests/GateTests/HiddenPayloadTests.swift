import Gate
import Sessions
import Testing

/// Rules, the payload around a value, and the path at which a fault in it is told.
private struct Place {
    let fields: [String: FieldType]
    let before: String
    let after: String
    let path: String

    init(_ fields: [String: FieldType], _ before: String, _ after: String, _ path: String) {
        self.fields = fields
        self.before = before
        self.after = after
        self.path = path
    }
}

/// What hides in a payload is found wherever it stands: each fault at each place.
@Suite("What hides in a payload")
struct HiddenPayloadTests {
    private static let places: [Place] = {
        func any(_ text: String) -> FieldType? { try? FieldType(text) }
        guard let open = any("any"), let list = any("array"), let object = any("object"),
            let element = any("array(any)")
        else { return [] }
        let nested = FieldType(fields: ["b": open])
        let objects = FieldType(.array(nested.value, .any))
        return [
            Place(["a": open], "{\"a\":", "}", "a"),
            Place(["a": list], "{\"a\":[0,", "]}", "a[1]"),
            Place(["a": element], "{\"a\":[", "]}", "a[0]"),
            Place(["a": object], "{\"a\":{\"x\":", "}}", "a.x"),
            Place(["a": nested], "{\"a\":{\"b\":", "}}", "a.b"),
            Place(["a": objects], "{\"a\":[{\"b\":1},{\"b\":", "}]}", "a[1].b"),
            Place(["a": open], "{\"a\":[[{\"deep\":{\"er\":", "}}]]}", "a[0][0].deep.er"),
        ]
    }()

    @Test("is judged by what a receiver would read, in objects and arrays alike", arguments: [
        (#"{"k":1,"k":2}"#, "107 .k"), (#"{"k":1,"\u006b":2}"#, "107 .k"),
        (#"{"__op":"Delete"}"#, "119 .__op"), (#"{"\u005F_op":"Delete"}"#, "119 .__op"),
        (#"{"__op":7}"#, "119 .__op"),
        (#"{"__type":"Pointer","className":"_User","objectId":"x"}"#, "119 .className"),
        (#"{"__type":"Relation","className":"_Role"}"#, "119 .className"),
        (#"{"className":"_Session","__type":"Pointer"}"#, "119 .className"),
        (#"{"className":"\u005fUser"}"#, "119 .className"),
        (#"{"cl\u0061ssName":"_User"}"#, "119 .className"),
        (#"{"className":"_Installation"}"#, "119 .className"),
        (#"{"redirectClassName":"_User"}"#, "119 .redirectClassName"),
        (#"{"__type":"Pointer","className":"Reading","objectId":"x"}"#, "ok"),
        (#"{"ACL":{"*":{"write":true}}}"#, "119 .ACL"), (#"{"\u0041CL":null}"#, "119 .ACL"),
        (#"{"_method":"DELETE"}"#, "119 ._method"), (#"{"_rperm":["*"]}"#, "105 ._rperm"),
        (#"{"_SessionToken":"r:x"}"#, "105 ._SessionToken"),
        (#"{"requests":[]}"#, "119 .requests"), (#"{"requests": [{"path":"x"}]}"#, "119 .requests"),
        (#"{"\u0072equests":[1]}"#, "119 .requests"), (#"{"requests":{"a":1}}"#, "ok"),
        ("1e999", "142 "), ("-1e999", "142 "), ("[1e999]", "142 [0]"), ("1e-999", "ok"),
        (#""\ud800""#, "107 "), (#""\udc00\ud800""#, "107 "), (#""\ud83d\ude00""#, "ok"),
        (#"{"$gt":1}"#, "105 .$gt"), (#"{"a.b":1}"#, "105 .a.b"), (#"{"":1}"#, "105 "),
        (#"{"\u0000":1}"#, "105 .\u{0}"), ("NaN", "107 "), ("'x'", "107 "), ("// x", "107 "),
        ("[1,]", "107 [1]"), (#"{"a":1,}"#, "107 "), ("\u{FEFF}1", "107 "),
    ])
    func everywhere(value: String, expected: String) throws {
        #expect(Self.places.count == 7)
        for place in Self.places {
            let payload = Array((place.before + value + place.after).utf8)
            let fault = FieldRules(place.fields).fault(in: payload, of: .create)
            let found = fault.map { "\($0.code.rawValue) \($0.path)" } ?? "ok"
            let parts = expected.split(separator: " ", omittingEmptySubsequences: false)
            let told = parts.count == 2 ? "\(parts[0]) \(place.path)\(parts[1])" : expected
            #expect(found == told, "\(place.before)")
        }
    }

    @Test("that is no UTF-8 is refused, in a key and in a value", arguments: [
        [0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
    ] as [[UInt8]])
    func badUTF8(bytes: [UInt8]) {
        for place in Self.places {
            for quoted in [("\"", "\""), ("{\"", "\":1}")] {
                let payload = Array((place.before + quoted.0).utf8) + bytes
                    + Array((quoted.1 + place.after).utf8)
                let fault = FieldRules(place.fields).fault(in: payload, of: .create)
                #expect(fault?.code == .invalidJSON)
            }
        }
    }

    @Test("is refused beside the document, too", arguments: [
        "{\"a\":1} x", "{\"a\":1}{}", "{\"a\":1},", "\u{FEFF}{\"a\":1}", "{\"a\":1}\u{0}", "",
        " ", "{\"a\":1", "\u{0}{\"a\":1}",
    ])
    func beside(payload: String) throws {
        let fault = FieldRules(["a": try FieldType("any")]).fault(
            in: Array(payload.utf8), of: .create)
        #expect(fault?.code == .invalidJSON)
        #expect(fault?.path == "")
    }

    @Test("counts 32 levels of objects, arrays and listed fields together")
    func depth() throws {
        func fields(_ levels: Int) throws -> FieldType {
            levels == 0
                ? try FieldType("any") : FieldType(fields: ["o": try fields(levels - 1)])
        }
        let rules = FieldRules(["o": try fields(10)])
        func payload(_ count: Int) -> [UInt8] {
            let objects = String(repeating: "{\"o\":", count: 11)
            let lists = String(repeating: "[{\"x\":", count: count)
            return Array((objects + lists + "0" + String(repeating: "}]", count: count)
                + String(repeating: "}", count: 11)).utf8)
        }
        #expect(rules.fault(in: payload(10), of: .create) == nil)
        #expect(rules.fault(in: payload(11), of: .create)?.kind == .tooDeep)
    }

    @Test("is not looked for where a rule has no fields")
    func withoutFields() throws {
        let gate = Gate(policy: try policy([rule(1, "A", [.create])]), scope: nil)
        for payload in ["{\"__op\":\"Delete\"}", "not JSON", "\u{0}", ""] {
            #expect(text(gate.decide(try write("a", .create, "A", payload))) == "ok policy.toml:1")
        }
    }

    @Test("may not be half an object in an update, which replaces objects whole", arguments: [
        (#"{}"#, "ok"), (#"{"at":{"lat":1}}"#, "ok"), (#"{"at":{"name":"x"}}"#, "142 at.lat"),
        (#"{"list":[{"t":1},{}]}"#, "142 list[1].t"), (#"{"list":[]}"#, "ok"),
    ])
    func update(payload: String, expected: String) throws {
        let at = FieldType(fields: [
            "lat": try FieldType("number"), "name": try FieldType("string?"),
        ])
        let item = FieldType(fields: ["t": try FieldType("integer")])
        let rules = FieldRules(["at": at, "list": FieldType(.array(item.value, .any))])
        let fault = rules.fault(in: Array(payload.utf8), of: .update)
        #expect((fault.map { "\($0.code.rawValue) \($0.path)" } ?? "ok") == expected)
    }
}
