import Gate
import Settings
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

    @Test("cannot list one name twice")
    func twice() {
        #expect(throws: SettingsError.self) {
            try fields(#"fields = { a = {}, "a?" = {} }"#)
        }
    }
}
