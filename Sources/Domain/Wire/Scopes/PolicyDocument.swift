package import Gate
package import Sessions

/// A board's policy file as its report tells it: a scope's `default` and `rules`, and what a
/// scope has no words for, each rule's `line`, its `rate` and `burst`, and the file's `apps`.
///
/// Source: the wire contract, The board's report.
package struct PolicyDocument: Equatable, Sendable {
    /// The most bytes that it may have as JSON.
    package static let limit = 8 * 1024

    package let json: JSONValue
    /// The same as the gate reads it.
    package let policy: Policy

    /// Nil for a policy that is too large, or that read back would not be the same.
    package init?(_ policy: Policy) {
        let json = policy.json
        do throws(WireError) {
            try self.init(json: json)
        } catch {
            return nil
        }
        guard self.policy == policy else { return nil }
    }

    /// Reads one strictly: a rule that is misread could seem to allow what it refuses.
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
            apps[app] = AppLimit(rate: try limit.rate(), maxBytes: try limit.size())
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
        return .object(members)
    }
}
