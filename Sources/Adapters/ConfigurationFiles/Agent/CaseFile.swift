package import Gate

/// A file of test cases: the expected decision of a policy for each write.
package enum CaseFile {
    private enum Outcome: String, CaseIterable { case allow, deny }

    /// Reads all `[[case]]` tables, in the file's order. One fault refuses the whole file.
    package static func parse(
        _ text: String, file: String
    ) throws(SettingsError) -> [PolicyCase] {
        let root = try TOMLDocument(text, file: file, environment: { _ in nil }).root
        try root.allow(only: .cases)
        var cases: [PolicyCase] = []
        for (line, section) in try root.sections("case") {
            cases.append(PolicyCase(
                line: line, name: try section.text("name"), subject: try subject(section),
                payload: try payload(section), expected: try expected(section)))
        }
        return cases
    }

    private static func subject(
        _ section: TOMLSection
    ) throws(SettingsError) -> PolicyCase.Subject {
        if let topic = try section.text("topic") {
            for key in ["app", "op", "class"] where section.entries[key] != nil {
                throw section.fault(key, "must be absent beside topic, which already gives it")
            }
            return .topic(topic)
        }
        let app = try section.need("app", section.value("app", SettingValue.appName))
        if try section.text("op") == "command" {
            guard section.entries["class"] == nil else {
                throw section.fault("class", "must be absent: a command has no class")
            }
            return .command(app)
        }
        let operation = try section.need("op", section.value("op", SettingValue.operation))
        let name = try section.need("class", section.text("class"))
        return .write(app, operation, className: name)
    }

    private static func payload(
        _ section: TOMLSection
    ) throws(SettingsError) -> PolicyCase.Payload {
        let text = try section.text("payload")
        guard let path = try section.text("payload_file") else { return .text(text ?? "") }
        guard text == nil else {
            throw section.fault("payload_file", "must be absent beside payload: use one of the two")
        }
        return .file(path)
    }

    private static func expected(
        _ section: TOMLSection
    ) throws(SettingsError) -> PolicyCase.Expectation {
        let outcome: Outcome = try section.need(
            "expect", section.value("expect", SettingValue.choice))
        let expected = PolicyCase.Expectation(
            allows: outcome == .allow, rule: try section.text("rule"),
            code: try section.count("code", within: 1...999), field: try section.text("field"))
        for (key, value) in [("code", expected.code == nil), ("field", expected.field == nil)]
        where expected.allows && !value {
            throw section.fault(key, "needs expect = \"deny\"")
        }
        return expected
    }
}
