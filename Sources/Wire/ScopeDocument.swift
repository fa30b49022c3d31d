package import Gate
package import Sessions

/// A scope as it stands in JSON: kept as it came, judged as the gate reads it.
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

    /// Reads a scope. A member that is mistyped, and a rule for a class of the system's, is an
    /// error: a rule that is misread could allow what it was meant to refuse.
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

extension Rule {
    fileprivate init(scope json: JSONObject, number: Int) throws(WireError) {
        let name = try json.string("class")
        let className = ClassName(name)
        guard name == "*" || className.map({ !$0.isReserved }) == true else {
            throw .mistyped("class")
        }
        var operations: Set<Operation> = []
        for value in try json.required("allow", { $0.asArray }) {
            guard let operation = value.asString.flatMap(Operation.init) else {
                throw .mistyped("allow")
            }
            operations.insert(operation)
        }
        self.init(
            id: .scope(number),
            app: try json.optional("app") { value in value.asString.flatMap { AppName($0) } },
            className: className, allow: operations, fields: try Self.fields(json),
            maxBytes: try json.optional("max_bytes", Self.size), rate: nil)
    }

    private static func fields(_ json: JSONObject) throws(WireError) -> [String: FieldType]? {
        guard let members = try json.optional("fields", { $0.asObject }) else { return nil }
        guard let declared = declarations(members), let fields = try? FieldType.parse(declared)
        else { throw .mistyped("fields") }
        return fields
    }

    private static func declarations(
        _ members: [String: JSONValue]
    ) -> [String: FieldDeclaration]? {
        var declared: [String: FieldDeclaration] = [:]
        for (name, value) in members {
            switch value {
            case .string(let text): declared[name] = .type(text)
            case .object(let inner):
                guard let fields = declarations(inner) else { return nil }
                declared[name] = .object(fields)
            case .array(let elements):
                guard elements.count == 1, case .object(let inner) = elements[0],
                    let fields = declarations(inner)
                else { return nil }
                declared[name] = .objects(fields)
            default: return nil
            }
        }
        return declared
    }

    private static func size(_ value: JSONValue) -> ByteCount? {
        if let bytes = value.asInteger { return bytes >= 0 ? ByteCount(bytes: bytes) : nil }
        return value.asString.flatMap { try? ByteCount($0) }
    }
}
