import Gate
import Sessions

/// Decisions as the commands print them.
extension Decision {
    var isAllow: Bool { if case .allow = self { true } else { false } }

    /// `decision`, `rule`, and of a refusal `code`, `error` and `field`.
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

    /// `policy.toml:14`, or `policy.toml:14: 142 … (celsius)` of a refusal. May hold what an app
    /// sent: for a terminal it goes through `PlainText`.
    var sentence: String {
        switch self {
        case .allow(let rule): "\(rule)"
        case .deny(let rejection):
            "\(rejection.rule): \(rejection.code.rawValue) \(rejection.reason)"
                + (rejection.field.map { " (\($0))" } ?? "")
        }
    }
}
