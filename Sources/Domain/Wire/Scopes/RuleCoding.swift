import Gate
import Sessions

/// Rules as JSON, in a scope and in a board's report.
extension Rule {
    /// A rule of a scope. A rule for a system class is an error.
    init(scope json: JSONObject, number: Int) throws(WireError) {
        try self.init(json: json, id: .scope(number), rate: nil)
        if className?.isReserved == true { throw .mistyped("class") }
    }

    /// A rule of a policy file. It may close a system class, but never open one.
    init(policy json: JSONObject) throws(WireError) {
        let line = try json.required("line") { value in
            value.asInteger.flatMap { (1...Self.lineLimit).contains($0) ? Int($0) : nil }
        }
        try self.init(json: json, id: .policy(line: line), rate: try json.rate())
        if className?.isReserved == true, !allow.isEmpty { throw .mistyped("class") }
    }

    private static let lineLimit: Int64 = 1_000_000

    private init(json: JSONObject, id: RuleID, rate: Rate?) throws(WireError) {
        let name = try json.string("class")
        let className = ClassName(name)
        guard name == "*" || className != nil else { throw .mistyped("class") }
        var operations: Set<Operation> = []
        for value in try json.required("allow", { $0.asArray }) {
            guard let operation = value.asString.flatMap(Operation.init) else {
                throw .mistyped("allow")
            }
            operations.insert(operation)
        }
        self.init(
            id: id,
            app: try json.optional("app") { value in value.asString.flatMap { AppName($0) } },
            className: className, allow: operations, fields: try Self.fields(json),
            maxBytes: try json.size(), rate: rate)
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
}

extension Rule {
    /// The JSON of a policy file's rule, in the form that `init(policy:)` reads.
    var policyJSON: JSONValue {
        var members: [String: JSONValue] = [
            "class": .string(className?.description ?? "*"), "line": .integer(Int64(line)),
            "allow": .array(
                Operation.allCases.filter(allow.contains).map { .string($0.rawValue) }),
        ]
        members["app"] = app.map { .string($0.description) }
        members["max_bytes"] = maxBytes.map { .integer($0.bytes) }
        members["fields"] = fields.map { FieldType.declarations(of: $0).mapValues(\.json) }
            .map(JSONValue.object)
        return .object(members.merging(rate.members) { $1 })
    }
}

extension FieldDeclaration {
    fileprivate var json: JSONValue {
        switch self {
        case .type(let text): .string(text)
        case .object(let fields): .object(fields.mapValues(\.json))
        case .objects(let fields): .array([.object(fields.mapValues(\.json))])
        }
    }
}

extension Rate? {
    /// `rate`, and `burst` if it differs from the default.
    var members: [String: JSONValue] {
        guard let rate = self else { return [:] }
        var members: [String: JSONValue] = [
            "rate": .string("\(rate.count)/\(rate.unit.rawValue)")
        ]
        if rate.burst != rate.count { members["burst"] = .integer(rate.burst) }
        return members
    }
}

extension JSONObject {
    /// `max_bytes`: a number, or a text such as `4 KiB`.
    func size() throws(WireError) -> ByteCount? {
        try optional("max_bytes") { value in
            if let bytes = value.asInteger { return bytes >= 0 ? ByteCount(bytes: bytes) : nil }
            return value.asString.flatMap { try? ByteCount($0) }
        }
    }

    /// `rate` with its `burst`, as in a policy file.
    func rate() throws(WireError) -> Rate? {
        let burst = try optional("burst") { value in
            value.asInteger.flatMap { (1...1_000_000).contains($0) ? $0 : nil }
        }
        let rate = try optional("rate") { value in value.asString.flatMap { try? Rate($0) } }
        guard rate != nil || burst == nil else { throw .mistyped("burst") }
        return rate?.with(burst: burst)
    }
}
