import Gate
import Sessions

/// A payload of one shape, with the rules that it keeps.
struct Sample {
    let name: String
    let payload: [UInt8]
    let rules: FieldRules

    private init(_ name: String, _ text: String, _ fields: [String: FieldType]) {
        self.name = name
        payload = Array(text.utf8)
        rules = FieldRules(fields)
    }

    static func all() throws -> [Sample] {
        [try flat(), try nested(), try untyped(), try numbers(), try text()]
    }

    private static func types(
        _ texts: KeyValuePairs<String, String>
    ) throws -> [String: FieldType] {
        var types: [String: FieldType] = [:]
        for (name, text) in texts { types[name] = try FieldType(text) }
        return types
    }

    private static func flat() throws -> Sample {
        Sample(
            "sensor, flat",
            #"{"celsius":21.53,"humidity":48.2,"unit":"C","battery":97,"ok":true,"#
                + #""device":"greenhouse-2","at":1763740800}"#,
            try types([
                "celsius": "number(-40..85)", "humidity": "number(0..100)", "unit": "enum(C|F)",
                "battery": "integer(0..100)?", "ok": "boolean", "device": "string(1..64)",
                "at": "integer",
            ]))
    }

    private static let nestedText: String = {
        let samples = (0..<14).map {
            #"{"t":\#(1_763_740_800 + $0 * 60),"celsius":\#(20 + $0).25,"#
                + #""ok":true,"name":"probe-\#($0)"}"#
        }
        return #"{"position":{"lat":52.5219,"lon":13.4132,"place":{"hall":"north","row":7}},"#
            + #""samples":[\#(samples.joined(separator: ","))]}"#
    }()

    private static func nested() throws -> Sample {
        let place = FieldType(fields: try types(["hall": "string", "row": "integer"]))
        var position = try types(["lat": "number(-90..90)", "lon": "number(-180..180)"])
        position["place"] = place
        let sample = FieldRules(try types([
            "t": "integer(0..)", "celsius": "number(-40..85)", "ok": "boolean?",
            "name": "string(..32)?",
        ]))
        return Sample(
            "nested, typed", nestedText,
            ["position": FieldType(fields: position),
             "samples": FieldType(.array(.object(sample), .any))])
    }

    private static func untyped() throws -> Sample {
        Sample(
            "nested, untyped", nestedText, try types(["position": "any", "samples": "any"]))
    }

    private static func numbers() throws -> Sample {
        let values = (0..<8600).map { "\(Double($0 * 37 % 20_001 - 10_000) / 100)" }
        return Sample(
            "array of numbers", #"{"v":[\#(values.joined(separator: ","))]}"#,
            try types(["v": "array(number(-1000..1000))"]))
    }

    private static func text() throws -> Sample {
        let line = #"Zu kühl im Gewächshaus: 3 °C\nFenster \"Nord\" schließen 🌱\u00e4\t"#
        return Sample(
            "text and escapes",
            #"{"note":"\#(String(repeating: line, count: 40))","tag":"größe"}"#,
            try types(["note": "string(..65536)", "tag": "enum(größe|länge)"]))
    }
}
