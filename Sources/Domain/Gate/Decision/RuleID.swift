/// The name of the rule that decided. Apps receive it, and logs show it.
///
/// Printed as `builtin:protected-class`, `scope:2`, `policy.toml:14` (a line), and the like.
package struct RuleID: Hashable, Sendable, CustomStringConvertible {
    package enum Layer: Hashable, Sendable {
        case builtin(BuiltinRule)
        /// The n-th rule of the scope, from 1; 0 is its default.
        case scope(Int)
        /// The rule whose header is on this line; 0 is the file's default.
        case policy(line: Int)
        case policyApp(AppName)
        /// The scope's `topics`: the topics that routes may lead to.
        case scopeTopics
        /// The route of `agent.toml` whose header is on this line.
        case route(line: Int)
        /// The same of the routes that came from a replaced board.
        case restoredRoute(line: Int)
    }

    package let layer: Layer

    package static func builtin(_ rule: BuiltinRule) -> Self { Self(layer: .builtin(rule)) }
    package static func scope(_ number: Int) -> Self { Self(layer: .scope(number)) }
    package static func policy(line: Int) -> Self { Self(layer: .policy(line: line)) }
    package static func policyApp(_ app: AppName) -> Self { Self(layer: .policyApp(app)) }
    package static func route(line: Int) -> Self { Self(layer: .route(line: line)) }
    package static func restoredRoute(line: Int) -> Self {
        Self(layer: .restoredRoute(line: line))
    }
    package static let scopeTopics = Self(layer: .scopeTopics)
    package static let scopeDefault = scope(0)
    package static let policyDefault = policy(line: 0)

    package var description: String {
        switch layer {
        case .builtin(let rule): "builtin:\(rule.rawValue)"
        case .scope(0): "scope:default"
        case .scope(let number): "scope:\(number)"
        case .policy(line: 0): "policy.toml:default"
        case .policy(let line): "policy.toml:\(line)"
        case .policyApp(let app): "policy.toml:app.\(app)"
        case .scopeTopics: "scope:topics"
        case .route(let line): "agent.toml:\(line)"
        case .restoredRoute(let line): "restored/routes.toml:\(line)"
        }
    }
}

/// The rules that no file and no scope can change.
package enum BuiltinRule: String, Sendable, CaseIterable {
    case session
    case topic
    case protectedClass = "protected-class"
    case reservedClass = "reserved-class"
    case payloadSize = "payload-size"
    case payloadForm = "payload-form"
    /// The outbox is full.
    case queue
    /// The user property `key`.
    case key
    /// Commands of people for apps, and the apps' answers.
    case command
    case allowed
}
