import Gate
import Testing

@Suite("Units of fields")
struct FieldUnitTests {
    private func split(_ text: String) throws -> (type: String, unit: String?) {
        let (plain, units) = FieldDeclaration.splitUnits(of: ["v": .type(text)])
        guard case .type(let type)? = plain["v"] else { throw GrammarError("no type") }
        return (type, units["v"]?.description)
    }

    @Test("stand behind a range or alone", arguments: [
        ("number(-60..125, °C)", "number(-60..125)", "°C"),
        ("number(-60..125,°C)?", "number(-60..125)?", "°C"), ("number(%)", "number", "%"),
        ("integer(0.., lx)", "integer(0..)", "lx"), ("integer(ppm)?", "integer?", "ppm"),
        ("number(µg/m³)", "number", "µg/m³"), ("number(l per min)", "number", "l per min"),
    ])
    func read(text: String, type: String, unit: String) throws {
        let found = try split(text)
        #expect(found.type == type && found.unit == unit)
        _ = try FieldType(found.type)
    }

    @Test("leave other types as they are", arguments: [
        "number", "number(-60..125)", "integer(0..)?", "string(1..64)", "array(number, 1..8)",
        "enum(a, b)", "object",
    ])
    func others(text: String) throws {
        let found = try split(text)
        #expect(found.type == text && found.unit == nil)
    }

    @Test("are no typing error of a range, and nothing that breaks a text", arguments: [
        "number(85)", "number(-40)", "number(1..0, °C)", "number(, °C)", "number(1..2, )",
        "number(1..2 °C)", "number(..)", "number()", "number(a..b)", "number(.5)", "number(°C, lx)",
        "string(1..2, °C)", "array(number(°C))", "number({{x}})", "number(a\"b)", "number(a'b)",
        "number(a\nb)", "number(<b>)", "number(a\u{202e}b)", "number( C)", "number(C )",
        "number(12345678901234567)", "number(abcdefghijklmnopq)", "number(a(b))",
    ])
    func refused(text: String) throws {
        let found = try split(text)
        #expect(throws: GrammarError.self) { try FieldType(found.type) }
    }

    @Test("have the path of their field, and none inside an array")
    func paths() throws {
        let (plain, units) = FieldDeclaration.splitUnits(of: [
            "room?": .object(["celsius": .type("number(°C)"), "hall": .object([
                "lux": .type("integer(lx)"),
            ])]),
            "list": .objects(["v": .type("number(W)")]),
        ])
        #expect(units.mapValues(\.description) == ["room.celsius": "°C", "room.hall.lux": "lx"])
        #expect(throws: FieldDeclarationFault.self) { try FieldType.parse(plain) }
    }

    @Test("are shown with the rule")
    func text() throws {
        let (plain, units) = FieldDeclaration.splitUnits(of: [
            "celsius": .type("number(-60..125, °C)?"), "at": .object(["lux": .type("integer(lx)")]),
            "n": .type("integer"),
        ])
        let rule = Rule(
            id: .policy(line: 1), app: nil, className: nil, allow: [.create],
            fields: try FieldType.parse(plain), units: units, maxBytes: nil, rate: nil)
        #expect(rule.text.contains(
            "fields { at = { lux = integer(lx) }, celsius = number(-60..125, °C)?, n = integer }"))
        #expect(!rule.withoutUnits.text.contains("°C"))
    }
}
