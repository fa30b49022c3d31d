/// Rules as text for people.
extension Rule {
    /// The line of a rule in its policy file; 0 for a rule of a scope.
    package var line: Int { if case .policy(let line) = id.layer { line } else { 0 } }

    /// The app and class that the rule matches: `app thermo, class Reading`.
    package var subject: String {
        let name = className.map { "class \($0)" } ?? "any class"
        return (app.map { "app \($0), " } ?? "any app, ") + name
    }

    /// The rule as one line of text.
    package var text: String {
        var parts = [subject]
        parts.append("allow \(operations)")
        if let fields {
            parts.append("fields \(FieldRules(fields).text(units))")
        }
        if let maxBytes { parts.append("max_bytes \(maxBytes)") }
        if let rate { parts.append("rate \(rate)") }
        return parts.joined(separator: "; ")
    }
}

extension AppLimit {
    /// The limit as one line of text.
    package var text: String {
        let parts = [
            maxBytes.map { "max_bytes \($0)" }, rate.map { "rate \($0)" },
            commands.map { "commands" + ($0.fields.map { " \(FieldRules($0).text([:]))" } ?? "") },
            commands.map { "command_rate \($0.rate)" },
        ]
        return parts.compactMap { $0 }.joined(separator: "; ")
    }
}

extension FieldRules {
    /// The form of a policy file, without quotes: `{ at = { lat = number }, unit = string? }`.
    fileprivate func text(_ units: [String: FieldUnit], within path: String = "") -> String {
        let list = fields.map { field in
            let place = path + field.name
            if let nested = field.type.value.nestedText(units, within: "\(place).") {
                return "\(field.name)\(field.type.isOptional ? "?" : "") = \(nested)"
            }
            let type = units[place]?.added(to: field.type) ?? field.type.description
            return "\(field.name) = \(type)"
        }
        return list.isEmpty ? "{}" : "{ \(list.joined(separator: ", ")) }"
    }
}

extension ValueType {
    /// Text for objects with listed members and for arrays of such objects; nil for all other
    /// types.
    fileprivate func nestedText(_ units: [String: FieldUnit], within path: String) -> String? {
        switch self {
        case .object(let fields?): fields.text(units, within: path)
        case .array(.object(let fields?), _): "[\(fields.text([:]))]"
        default: nil
        }
    }
}
