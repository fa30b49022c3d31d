import ConfigurationFiles
import Gate
import Testing

@Suite("Fields in policy.toml")
struct PolicyFieldsTests {
    private func fields(_ text: String) throws -> [String: FieldType]? {
        let rule = "[[rule]]\nclass = \"A\"\nallow = [\"create\"]\n"
        return try PolicyFile.parse(rule + text, file: "policy.toml").rules.first?.fields
    }

    @Test("may nest, and objects may be absent")
    func nesting() throws {
        let fields = try fields(
            #"fields = { at = { lat = "number" }, "by?" = { app = "string?" }, v = "any" }"#)
        #expect(fields?["at"] == FieldType(fields: ["lat": try FieldType("number")]))
        #expect(fields?["by"] == FieldType(
            fields: ["app": try FieldType("string?")], isOptional: true))
        #expect(fields?.count == 3)
    }

    @Test("cannot have a name that a server keeps or cannot store", arguments: [
        "ACL", "_method", "__op", "\"\"", "\"a.b\"", "\"x?\"", "\"é\"", "\"$x\"",
    ])
    func names(name: String) {
        let error = #expect(throws: SettingsError.self) {
            try fields("fields = { \(name) = \"any\" }")
        }
        #expect(error?.line == 4)
    }

    @Test("may be arrays of objects with fields")
    func arrays() throws {
        let fields = try fields(
            #"fields = { samples = [{ t = "integer" }], "more?" = [{ v = "number?" }] }"#)
        let sample = ValueType.object(FieldRules(["t": try FieldType("integer")]))
        let more = ValueType.object(FieldRules(["v": try FieldType("number?")]))
        #expect(fields?["samples"] == FieldType(.array(sample, .any)))
        #expect(fields?["more"] == FieldType(.array(more, .any), isOptional: true))
    }

    @Test("are refused where a field is neither a type nor a table", arguments: [
        "a = 1", "a = []", "a = [\"number\"]", "a = [{}, {}]", "a = [[{}]]", "a = { b = true }",
        "a = { b = \"nmber\" }", "a = { _b = \"any\" }", "a = [{ b = \"string(9..1)\" }]",
    ])
    func malformed(field: String) {
        let error = #expect(throws: SettingsError.self) { try fields("fields = { \(field) }") }
        #expect(error?.line == 4)
        #expect(error?.message.contains("rule.fields.a") == true)
    }

    @Test("cannot list one name twice")
    func twice() {
        #expect(throws: SettingsError.self) {
            try fields(#"fields = { a = {}, "a?" = {} }"#)
        }
    }
}
