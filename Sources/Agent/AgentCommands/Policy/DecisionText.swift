import Gate
import Sessions

/// Formats decisions for the commands.
extension Decision {
    var isAllow: Bool { if case .allow = self { true } else { false } }

    /// `decision` and `rule`; for a refusal also `code`, `error` and `field`.
    var members: [String: JSONValue] {
        switch self {
        case .allow(let rule):
            ["decision": .string("allow"), "rule": .string(rule.description)]
        case .deny(let rejection):
            [
                "decision": .string("deny"), "rule": .string(rejection.rule.description),
                "code": .integer(Int64(rejection.code.rawValue)),
                "error": .string(rejection.reason),
                "field": rejection.field.map(JSONValue.string) ?? .null,
            ]
        }
    }

    /// `policy.toml:14`, or for a refusal `policy.toml:14: 142 … (celsius)`. It may contain text
    /// from an app: pass it through `PlainText` before a terminal.
    var sentence: String {
        switch self {
        case .allow(let rule): "\(rule)"
        case .deny(let rejection):
            "\(rejection.rule): \(rejection.code.rawValue) \(rejection.reason)"
                + (rejection.field.map { " (\($0))" } ?? "")
        }
    }
}
