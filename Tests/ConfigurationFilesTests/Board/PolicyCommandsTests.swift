import ConfigurationFiles
import Gate
import Testing

@Suite("Commands in policy.toml")
struct PolicyCommandsTests {
    private func heater(_ text: String) throws(SettingsError) -> AppLimit? {
        let file = "default = \"deny\"\n[app.heater]\n\(text)"
        let apps = try PolicyFile.parse(file, file: "policy.toml").apps
        return AppName("heater").flatMap { apps[$0] }
    }

    @Test("are off unless they are switched on")
    func off() throws {
        #expect(try heater("")?.commands == nil)
        #expect(try heater("commands = false\ncommand_rate = \"1/h\"") == AppLimit())
        #expect(try heater("commands = true")?.commands == CommandRules(rate: Rate("1/s")))
    }

    @Test("have fields and a rate of their own")
    func limits() throws {
        let limit = try heater("""
            rate = "9/s"
            commands = true
            command_fields = { celsius = "number(5..30, °C)", at = { x = "integer" } }
            command_rate = "6/min"
            """)
        #expect(limit == AppLimit(rate: try Rate("9/s"), commands: CommandRules(
            fields: [
                "celsius": try FieldType("number(5..30)"),
                "at": FieldType(fields: ["x": try FieldType("integer")]),
            ], rate: try Rate("6/min"))))
        #expect(limit?.text == "rate 9/s; commands { at = { x = integer }, "
            + "celsius = number(5..30) }; command_rate 6/min")
    }

    @Test("refuse a mistake with its line", arguments: [
        ("commands = 1", 3), ("commands = \"true\"", 3), ("command_rate = \"1/s\"", 3),
        ("command_fields = { a = \"any\" }", 3), ("commands = true\ncommand_rate = \"1\"", 4),
        ("commands = true\ncommand_fields = { a = \"text\" }", 4),
        ("commands = true\ncommand_fields = { _a = \"any\" }", 4), ("comands = true", 3),
    ])
    func mistakes(text: String, line: Int) {
        let error = #expect(throws: SettingsError.self) { try heater(text) }
        #expect(error?.line == line)
    }

    @Test("are cases of a policy test, without a class")
    func cases() throws {
        let head = "[[case]]\napp = \"heater\"\nop = \"command\"\n"
        let text = head + "payload = '{}'\nexpect = \"deny\"\ncode = 119"
        let found = try CaseFile.parse(text, file: "cases.toml")
        #expect(found.map(\.subject) == [.command(try #require(AppName("heater")))])
        let error = #expect(throws: SettingsError.self) {
            try CaseFile.parse(head + "class = \"A\"\nexpect = \"deny\"", file: "cases.toml")
        }
        #expect(error?.line == 4)
    }
}
