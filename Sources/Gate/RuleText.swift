/// Rules as people read them.
extension Rule {
    /// Where a policy's rule stands; 0 for a rule of a scope.
    package var line: Int { if case .policy(let line) = id.layer { line } else { 0 } }

    /// What the rule matches: `app thermo, class Reading`.
    package var subject: String {
        let name = className.map { "class \($0)" } ?? "any class"
        return (app.map { "app \($0), " } ?? "any app, ") + name
    }

    /// What the rule says, on one line.
    package var text: String {
        var parts = [subject]
        parts.append("allow \(operations)")
        if let fields {
            let list = fields.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
            parts.append("fields { \(list.joined(separator: ", ")) }")
        }
        if let maxBytes { parts.append("max_bytes \(maxBytes)") }
        if let rate { parts.append("rate \(rate)") }
        return parts.joined(separator: "; ")
    }
}

extension AppLimit {
    /// What the limit says, on one line.
    package var text: String {
        let parts = [maxBytes.map { "max_bytes \($0)" }, rate.map { "rate \($0)" }]
        return parts.compactMap { $0 }.joined(separator: "; ")
    }
}
