package import Gate

/// Reads `policy.toml`, which limits what a board's apps may send.
package enum PolicyFile {
    private enum Default: String, CaseIterable { case allow, deny }

    /// Reads the text of `policy.toml`. Any fault refuses the whole file, so that a rule with a
    /// mistake is never silently missing. No variable overrides this file.
    ///
    /// A file with neither a `default` nor a rule is a fault, because it does not say what may
    /// pass. The line of its `[[rule]]` identifies a rule. Errors carry the place of the faulty
    /// value.
    package static func parse(_ text: String, file: String) throws(SettingsError) -> Policy {
        try located(text, file: file).policy
    }

    /// Like `parse`, but also returns the line of each `[app.NAME]`.
    package static func located(
        _ text: String, file: String
    ) throws(SettingsError) -> (policy: Policy, appLines: [AppName: Int]) {
        let root = try TOMLDocument(text, file: file, environment: { _ in nil }).root
        try root.allow(only: .policy)
        let standard: Default? = try root.value("default", SettingValue.choice)
        var rules: [Rule] = []
        for (line, section) in try root.sections("rule") {
            rules.append(try rule(section, line: line))
        }
        let limits = try root.section("app")
        let apps = try apps(limits)
        var appLines: [AppName: Int] = [:]
        for app in apps.keys { appLines[app] = limits.entries["\(app)"]?.node.place.line }
        // A truncated file looks like this, and so does a file whose lines are all commented out.
        guard standard != nil || !rules.isEmpty else {
            throw SettingsError(
                file: file, line: appLines.values.min() ?? 1, column: 1, message: """
                    neither a default nor a rule: set default = "allow" or default = "deny", or \
                    write a [[rule]]
                    """)
        }
        let policy = Policy(
            allowsByDefault: standard != .deny, apps: apps, rules: rules)
        return (policy, appLines)
    }

    private static func apps(_ section: TOMLSection) throws(SettingsError) -> [AppName: AppLimit] {
        var apps: [AppName: AppLimit] = [:]
        for key in section.entries.keys.sorted() {
            let name: AppName
            do throws(SettingFault) {
                name = try SettingValue.appName(key)
            } catch {
                throw section.nameFault(key, error.sentence)
            }
            let limits = try section.section(key)
            apps[name] = AppLimit(
                rate: try rate(limits),
                maxBytes: try limits.size("max_bytes"),
                commands: try commands(limits))
        }
        return apps
    }

    /// Reads what commands the app takes. Nil: it takes none.
    private static func commands(_ section: TOMLSection) throws(SettingsError) -> CommandRules? {
        let isAllowed = try section.flag("commands")
        let declared = try fields(section, "command_fields")
        let rate = try section.value("command_rate", Rate.init(_:))
        for key in ["command_fields", "command_rate"]
        where isAllowed == nil && section.entries[key] != nil {
            throw section.fault(key, "needs commands = true")
        }
        guard isAllowed == true else { return nil }
        return CommandRules(fields: declared?.types, rate: rate ?? CommandRules.usualRate)
    }

    private static func rule(
        _ section: TOMLSection, line: Int
    ) throws(SettingsError) -> Rule {
        let name = try section.need("class", section.text("class"))
        let className = name == "*" ? nil : try section.value("class", SettingValue.className)
        let allow = try operations(section)
        if let className, !allow.isEmpty {
            try check(className, section)
        }
        let declared = try fields(section)
        return Rule(
            id: .policy(line: line),
            app: try section.value("app", SettingValue.appName),
            className: className,
            allow: allow,
            fields: declared?.types,
            units: declared?.units ?? [:],
            maxBytes: try section.size("max_bytes"),
            rate: try rate(section))
    }

    /// Reads `rate` and `burst`. Without `burst` the bucket holds the count of one time unit.
    private static func rate(_ section: TOMLSection) throws(SettingsError) -> Rate? {
        let burst = try section.count("burst", within: 1...1_000_000)
        guard let rate = try section.value("rate", Rate.init(_:)) else {
            guard burst == nil else { throw section.fault("burst", "needs a rate") }
            return nil
        }
        return rate.with(burst: burst.map { Int64($0) })
    }

    private static func operations(
        _ section: TOMLSection
    ) throws(SettingsError) -> Set<Operation> {
        let texts = try section.need("allow", section.texts("allow"))
        var operations: Set<Operation> = []
        for (index, text) in texts.enumerated() {
            do throws(SettingFault) {
                operations.insert(try SettingValue.operation(text))
            } catch {
                throw section.fault("allow", element: index, error.sentence)
            }
        }
        return operations
    }

    /// Refuses a rule for a class that no rule can open: such a rule would mislead its reader.
    private static func check(
        _ className: ClassName, _ section: TOMLSection
    ) throws(SettingsError) {
        if className.isProtected {
            throw section.fault("class", "\(className) is protected: no rule can allow it")
        }
        if className.isReserved {
            throw section.fault("class", "\(className) is a system class: no rule can allow it")
        }
    }

    /// Reads `fields`. Nil without the key: the gate does not check payloads then.
    private static func fields(
        _ section: TOMLSection, _ key: String = "fields"
    ) throws(SettingsError) -> (types: [String: FieldType], units: [String: FieldUnit])? {
        guard section.entries[key] != nil else { return nil }
        let table = try section.section(key)
        let (plain, units) = FieldDeclaration.splitUnits(of: try declarations(of: table))
        do throws(FieldDeclarationFault) {
            return (try FieldType.parse(plain), units)
        } catch {
            var place = table
            for key in error.path.dropLast() { place = place.within(key) }
            throw place.fault(error.path.last ?? key, error.sentence)
        }
    }

    private static func declarations(
        of table: TOMLSection
    ) throws(SettingsError) -> [String: FieldDeclaration] {
        var declared: [String: FieldDeclaration] = [:]
        for key in table.entries.keys.sorted() {
            switch table.value(key) {
            case .string(let text): declared[key] = .type(text)
            case .table:
                declared[key] = .object(try declarations(of: table.within(key)))
            case .array(let nodes):
                guard nodes.count == 1, case .table = nodes[0].value else {
                    throw table.fault(key, "must be objects, written [{ name = \"type\" }]")
                }
                declared[key] = .objects(try declarations(of: table.within(key)))
            default:
                throw table.fault(key, "must be a type such as \"number\", or a table of fields")
            }
        }
        return declared
    }
}
