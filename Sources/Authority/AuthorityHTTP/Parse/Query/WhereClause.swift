import AuthorityCore
import Sessions
import Wire

/// Parse's `where`: a condition on an object's members. It sees only objects and members that its
/// caller may see anyway, so it cannot probe for others.
///
/// Source: Parse REST guide, Query constraints and Compound queries.
struct WhereClause: Sendable {
    indirect enum Condition: Sendable {
        case all([Condition])
        case any([Condition])
        case none([Condition])
        case member([String], Test)
    }

    enum Test: Sendable {
        case equals(JSONValue)
        case differs(JSONValue)
        case among([JSONValue])
        case notAmong([JSONValue])
        case holdsAll([JSONValue])
        case exists(Bool)
        case ordered(MemberOrder.Comparison, JSONValue)
        case text(TextPattern)
        indirect case not([Test])
    }

    /// Read in `WhereBounds.swift`.
    var condition = Condition.all([])
    /// `$relatedTo`: the objects in a relation of a role.
    private(set) var relation: Relation?

    struct Relation: Equatable, Sendable {
        let object: ObjectID
        let key: String
    }

    /// Whether every object matches.
    var isEmpty: Bool {
        guard relation == nil, case .all(let parts) = condition else { return false }
        return parts.isEmpty
    }

    static let byteLimit = 4096
    private static let depthLimit = 6
    private static let termLimit = 200

    init() {}

    /// Parses an object or its JSON text. 102 for an invalid query, 119 for a member that nobody
    /// may ask for, 116 if it is too large.
    init(_ value: JSONValue) throws(AuthorityError) {
        var value = value
        if case .string(let text) = value {
            value = try reading { () throws(WireError) in
                try JSONValue(parsing: Array(text.utf8), limit: Self.byteLimit)
            }
        } else if value.bytes.count > Self.byteLimit {
            throw .refused(Refusal(.tooLarge, "a where has at most 4 KiB"))
        }
        guard case .object(var members) = value else { throw Self.bad("where must be an object") }
        try Self.requireDates(value)
        if let related = members.removeValue(forKey: "$relatedTo") {
            relation = try Relation(json: related)
        }
        var terms = 0
        condition = try Self.condition(members, depth: 0, &terms)
    }

    func fits(_ object: [String: JSONValue]) -> Bool { Self.fits(object, condition) }

    /// Throws 102 for a Date whose time cannot be read: such a condition would silently match
    /// nothing.
    private static func requireDates(_ value: JSONValue) throws(AuthorityError) {
        switch value {
        case .object(let members):
            guard members["__type"] == .string("Date") else {
                for member in members.values { try requireDates(member) }
                return
            }
            guard members["iso"]?.asString.flatMap(ParseDate.parse) != nil else {
                throw bad("a Date needs iso, such as 2026-11-25T18:00:00.000Z")
            }
        case .array(let values): for value in values { try requireDates(value) }
        default: return
        }
    }

    static func bad(_ text: String) -> AuthorityError { .refuse(.invalidQuery, text) }
}

// Parsing.
extension WhereClause {
    private static func condition(
        _ members: [String: JSONValue], depth: Int, _ terms: inout Int
    ) throws(AuthorityError) -> Condition {
        guard depth < depthLimit else { throw bad("a where nests at most \(depthLimit) levels") }
        var all: [Condition] = []
        for (name, value) in members {
            try count(1, &terms)
            switch name {
            case "$or", "$and", "$nor":
                guard let parts = value.asArray, !parts.isEmpty else {
                    throw bad("\(name) takes an array")
                }
                var inner: [Condition] = []
                for part in parts {
                    guard let part = part.asObject else { throw bad("\(name) takes objects") }
                    inner.append(try condition(part, depth: depth + 1, &terms))
                }
                all.append(
                    name == "$or" ? .any(inner) : name == "$and" ? .all(inner) : .none(inner))
            default:
                let path = try MemberPath.parse(name)
                for test in try tests(value, depth: depth, &terms) {
                    all.append(.member(path, test))
                }
            }
        }
        return .all(all)
    }

    private static func tests(
        _ value: JSONValue, depth: Int, _ terms: inout Int
    ) throws(AuthorityError) -> [Test] {
        guard let members = value.asObject, members.keys.contains(where: { $0.hasPrefix("$") })
        else { return [.equals(value)] }
        var tests: [Test] = []
        for (name, operand) in members where name != "$options" {
            try count(1, &terms)
            tests.append(
                try test(name, operand, members["$options"], depth: depth, &terms))
        }
        return tests
    }

    private static func test(
        _ name: String, _ operand: JSONValue, _ options: JSONValue?, depth: Int,
        _ terms: inout Int
    ) throws(AuthorityError) -> Test {
        if let comparison = MemberOrder.Comparison(rawValue: name) {
            return .ordered(comparison, operand)
        }
        switch name {
        case "$eq": return .equals(operand)
        case "$ne": return .differs(operand)
        case "$in": return .among(try list(name, operand, &terms))
        case "$nin": return .notAmong(try list(name, operand, &terms))
        case "$all": return .holdsAll(try list(name, operand, &terms))
        case "$exists":
            guard let isThere = operand.asBool else { throw bad("$exists takes true or false") }
            return .exists(isThere)
        case "$regex": return .text(try TextPattern(operand, options: options))
        case "$not":
            guard depth < depthLimit else {
                throw bad("a where nests at most \(depthLimit) levels")
            }
            return .not(try tests(operand, depth: depth + 1, &terms))
        case "$inQuery", "$notInQuery", "$select", "$dontSelect":
            throw bad("\(name) is not supported; query the other objects first, then use $in")
        default: throw bad("\(name.prefix(32)) is not supported in this query")
        }
    }

    private static func list(
        _ name: String, _ operand: JSONValue, _ terms: inout Int
    ) throws(AuthorityError) -> [JSONValue] {
        guard let values = operand.asArray else { throw bad("\(name) takes an array") }
        try count(values.count, &terms)
        return values
    }

    private static func count(_ more: Int, _ terms: inout Int) throws(AuthorityError) {
        terms += more
        guard terms <= termLimit else { throw bad("a where has at most \(termLimit) terms") }
    }
}

// Matching.
extension WhereClause {
    private static func fits(_ object: [String: JSONValue], _ condition: Condition) -> Bool {
        switch condition {
        case .all(let parts): parts.allSatisfy { fits(object, $0) }
        case .any(let parts): parts.contains { fits(object, $0) }
        case .none(let parts): !parts.contains { fits(object, $0) }
        case .member(let path, let test): fits(MemberPath.value(path, in: object), test)
        }
    }

    /// A null member counts as absent. An array has a value if one of its elements equals it.
    private static func fits(_ value: JSONValue?, _ test: Test) -> Bool {
        switch test {
        case .equals(let other): has(value, other)
        case .differs(let other): !has(value, other)
        case .among(let others): others.contains { has(value, $0) }
        case .notAmong(let others): !others.contains { has(value, $0) }
        case .holdsAll(let others): others.allSatisfy { has(value, $0) }
        case .exists(let isThere): (value != nil && value != .null) == isThere
        case .ordered(let comparison, let other): comparison.holds(value, other)
        case .text(let pattern): value?.asString.map(pattern.fits) ?? false
        case .not(let tests): !tests.allSatisfy { fits(value, $0) }
        }
    }

    private static func has(_ value: JSONValue?, _ other: JSONValue) -> Bool {
        if MemberOrder.areEqual(value ?? .null, other) { return true }
        return value?.asArray?.contains { MemberOrder.areEqual($0, other) } ?? false
    }
}

extension WhereClause.Relation {
    fileprivate init(json: JSONValue) throws(AuthorityError) {
        guard let members = json.asObject, let key = members["key"]?.asString,
            let pointer = members["object"]?.asObject,
            pointer["className"] == .string("_Role"),
            let id = pointer["objectId"]?.asString.flatMap(ObjectID.init)
        else { throw WhereClause.bad("$relatedTo takes a role and its users or roles") }
        self.init(object: id, key: key)
    }
}
