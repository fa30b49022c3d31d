import Sessions
import Testing
@testable import Wire

@Suite("Plain JSON")
struct PlainJSONTests {
    private static let read = [
        "{}", "[]", "0", "-7", "\"\"", "null", " true\n", "{\"a\":1,\"b\":[true,false,null,{}]}",
        "{\"naïve\":\"温室\"}", "999999999999999999", "-999999999999999999", "[[[[[1]]]]]",
        "\t{ \"a\" : [ 1 , 2 ] }\r\n", "\"\u{7f}\u{2028}\"",
    ]

    @Test("is read as the decoder reads it", arguments: read)
    func alike(text: String) throws {
        let bytes = Array(text.utf8)
        let value = try #require(PlainJSONReader.read(bytes))
        #expect(try value == JSONValue.decoded(bytes))
    }

    @Test("is left to the decoder where it is not plain, or not JSON", arguments: [
        "", " ", "{", "}", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "01", "-0", "-",
        "1.5", "1e3", "1000000000000000000", "9223372036854775808", "tru", "nulls", "+1",
        "\"a", "\"\\n\"", "\"\\ud800\"", "\"a\nb\"", "{\"a\":1,\"a\":2}", "1 2", "[1 2]",
        "{\"e\u{301}\":1,\"\u{e9}\":2}", "\u{feff}1", "{1:2}", "1,", "/**/1", "Infinity",
        String(repeating: "[", count: 33) + String(repeating: "]", count: 33),
    ])
    func left(text: String) {
        #expect(PlainJSONReader.read(Array(text.utf8)) == nil)
    }

    @Test("may nest 32 levels, plain or not, and no deeper", arguments: ["1", "1.5", "\"\\n\""])
    func depth(inside: String) throws {
        func nested(_ levels: Int) -> [UInt8] {
            let open = String(repeating: #"{"[{\"":["#, count: levels / 2)
            return Array((open + inside + String(repeating: "]}", count: levels / 2)).utf8)
        }
        _ = try JSONValue(parsing: nested(32))
        #expect(throws: WireError.notJSON) { try JSONValue(parsing: nested(34)) }
    }

    @Test("has no bytes that are not UTF-8", arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
        [0x22, 0xE2, 0x82, 0x22], [0x30, 0x00],
    ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(PlainJSONReader.read(bytes) == nil)
    }

    @Test("is read alike or left, whatever byte of it is changed")
    func mutations() throws {
        let text = "{\"v\":1,\"to\":\"ab\",\"x\":[-10,true,null],\"o\":{\"k\":\"ü\"}}"
        let bytes = Array(text.utf8)
        for place in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = bytes
                changed[place] = byte
                guard let value = PlainJSONReader.read(changed) else { continue }
                #expect(try value == JSONValue.decoded(changed), "\(place) \(byte)")
            }
        }
    }

    @Test("is written as the encoder writes it")
    func written() throws {
        let texts = ["", "a/b", "\"\\", "\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}", "温室 e\u{301} 🪴"]
        var values: [JSONValue] = texts.map(JSONValue.string)
        values += [.null, .bool(true), .bool(false), .integer(.min), .integer(.max), .integer(0)]
        values += [.array([]), .object([:]), .array(values)]
        values.append(.object(Dictionary(
            texts.enumerated().map { ($1, .integer(Int64($0))) }, uniquingKeysWith: { $1 })))
        values.append(.object(["b": .null, "a": .object(["é": .null, "z": .null, "Z": .null])]))
        for value in values {
            #expect(PlainJSONWriter.write(value) == value.encoded)
        }
        #expect(PlainJSONWriter.write(.array([.number(1.5)])) == nil)
        #expect(JSONValue.array([.number(1.5)]).text == "[1.5]")
    }
}
