package import Gate
package import Sessions

/// A scope as JSON, kept unchanged. `Scope` is its parsed form.
///
/// Source: the wire contract, Scope.
package struct ScopeDocument: Equatable, Sendable {
    package let json: JSONValue
    package init(unchecked json: JSONValue) { self.json = json }
}

extension JSONObject {
    /// A scope that may be absent.
    func scope(_ name: String) throws(WireError) -> ScopeDocument? {
        try optional(name) { value in
            value.asObject == nil ? nil : ScopeDocument(unchecked: value)
        }
    }
}

extension Scope {
    private static let ruleLimit = 1000

    /// Parses a scope. A mistyped member is an error, and so is a rule for a system class: a
    /// misread rule could allow what it should refuse.
    package init(_ document: ScopeDocument) throws(WireError) {
        guard case .object(let members) = document.json else { throw .mistyped("scope") }
        let json = JSONObject(members)
        let choice = try json.optional("default") { $0.asString } ?? "allow"
        guard ["allow", "deny"].contains(choice) else { throw .mistyped("default") }
        let values = try json.optional("rules") { $0.asArray } ?? []
        guard values.count <= Self.ruleLimit else { throw .mistyped("rules") }
        var rules: [Rule] = []
        for (index, value) in values.enumerated() {
            guard let members = value.asObject else { throw .mistyped("rules") }
            rules.append(try Rule(scope: JSONObject(members), number: index + 1))
        }
        var topics: [TopicFilter] = []
        for value in try json.optional("topics", { $0.asArray }) ?? [] {
            guard let filter = value.asString.flatMap(TopicFilter.init) else {
                throw .mistyped("topics")
            }
            topics.append(filter)
        }
        self.init(allowsByDefault: choice == "allow", rules: rules, topics: topics)
    }
}
