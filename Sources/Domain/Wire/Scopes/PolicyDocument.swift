package import Gate
package import Sessions

/// A board's policy file in its report. It has the `default` and `rules` of a scope. It adds each
/// rule's `line`, `rate` and `burst`, and the file's `apps`. It has no units: an earlier reader
/// would refuse their types. They are reported beside it. Of commands it says only which apps take
/// some.
///
/// Source: the wire contract, The board's report.
package struct PolicyDocument: Equatable, Sendable {
    /// The largest size as JSON, in bytes.
    package static let limit = 8 * 1024

    package let json: JSONValue
    /// The policy as the gate reads it.
    package let policy: Policy

    /// Nil if the policy is too large, or if reading the JSON back would give another policy.
    package init?(_ policy: Policy) {
        let json = policy.json
        do throws(WireError) {
            try self.init(json: json)
        } catch {
            return nil
        }
        let plain = Policy(
            allowsByDefault: policy.allowsByDefault, apps: policy.apps.mapValues(\.reported),
            rules: policy.rules.map(\.withoutUnits))
        guard self.policy == plain else { return nil }
    }

    /// Reads strictly, because a misread rule could seem to allow what it refuses.
    package init(json: JSONValue) throws(WireError) {
        guard let members = json.asObject else { throw .mistyped("policy") }
        guard json.bytes.count <= Self.limit else { throw .tooLarge(limit: Self.limit) }
        self.json = json
        policy = try Policy(json: JSONObject(members))
    }

    package static func == (left: Self, right: Self) -> Bool { left.json == right.json }
}

extension Policy {
    fileprivate init(json: JSONObject) throws(WireError) {
        let choice = try json.string("default")
        guard ["allow", "deny"].contains(choice) else { throw .mistyped("default") }
        var rules: [Rule] = []
        for value in try json.required("rules", { $0.asArray }) {
            guard let members = value.asObject else { throw .mistyped("rules") }
            rules.append(try Rule(policy: JSONObject(members)))
        }
        var apps: [AppName: AppLimit] = [:]
        for (name, value) in try json.optional("apps", { $0.asObject }) ?? [:] {
            guard let app = AppName(name), let members = value.asObject else {
                throw .mistyped("apps")
            }
            let limit = JSONObject(members)
            let takesCommands = try limit.optional("commands") { $0.asBool } ?? false
            apps[app] = AppLimit(
                rate: try limit.rate(), maxBytes: try limit.size(),
                commands: takesCommands ? CommandRules() : nil)
        }
        self.init(allowsByDefault: choice == "allow", apps: apps, rules: rules)
    }

    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "default": .string(allowsByDefault ? "allow" : "deny"),
            "rules": .array(rules.map(\.policyJSON)),
        ]
        if !apps.isEmpty {
            let limits = apps.map { ($0.key.description, $0.value.json) }
            members["apps"] = .object(Dictionary(limits) { first, _ in first })
        }
        return .object(members)
    }
}

extension AppLimit {
    fileprivate var json: JSONValue {
        var members = rate.members
        members["max_bytes"] = maxBytes.map { .integer($0.bytes) }
        if commands != nil { members["commands"] = .bool(true) }
        return .object(members)
    }

    /// The part that a reader of the report gets back.
    fileprivate var reported: AppLimit {
        AppLimit(rate: rate, maxBytes: maxBytes, commands: commands.map { _ in CommandRules() })
    }
}
