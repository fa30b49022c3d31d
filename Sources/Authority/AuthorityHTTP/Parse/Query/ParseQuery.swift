import AuthorityCore
import Sessions
import Wire

/// An object that a query may find: the members that its caller sees, and others that only a
/// `where` may ask for.
struct Findable: Sendable {
    let form: [String: JSONValue]
    var unshown: [String: JSONValue] = [:]
}

/// A query: which of the objects that its caller may see, in which order, how many, and which
/// members of each.
///
/// Source: Parse REST guide, Queries.
struct ParseQuery: Sendable {
    private(set) var clause = WhereClause()
    private(set) var limit = 100
    private(set) var skip = 0
    private(set) var order: [(path: [String], isDescending: Bool)] = []
    private var keys: [[String]]?
    private var excluded: Set<String> = []
    private(set) var counts = false
    /// The members whose pointers become objects, each after the one that it is in.
    private(set) var includes: [[String]] = []

    /// Every object has these.
    private static let always: Set<String> = [
        "__type", "objectId", "createdAt", "updatedAt", "ACL", "className",
    ]
    /// The most objects within each other.
    private static let includeDepth = 4
    private static let known: Set<String> = [
        "where", "limit", "skip", "order", "keys", "excludeKeys", "count", "include", "everyone",
    ]

    /// 102 for an unknown parameter.
    init(_ call: Call) throws(AuthorityError) {
        let options = call.options
        for name in options.keys where !Self.known.contains(name) {
            throw WhereClause.bad("Invalid parameter for query: \(name.prefix(32))")
        }
        if let value = options["where"] { clause = try WhereClause(value) }
        limit = try Self.number(options, "limit") ?? 100
        skip = try Self.number(options, "skip") ?? 0
        // The Swift SDK sends true.
        counts = switch options["count"] {
        case .bool(true), .string("true"): true
        case .bool(false), .string("false"): false
        default: try Self.number(options, "count") ?? 0 > 0
        }
        for name in try Self.names(options, "order") {
            let isDescending = name.hasPrefix("-")
            let path = try MemberPath.parse(isDescending ? String(name.dropFirst()) : name)
            order.append((path, isDescending))
        }
        if options["keys"] != nil {
            keys = try Self.names(options, "keys").map { $0.split(separator: ".").map(String.init) }
        }
        excluded = Set(try Self.names(options, "excludeKeys")).subtracting(Self.always)
        includes = try Self.includes(try Self.names(options, "include"), keys ?? [])
    }

    /// A key such as `user.username` includes `user`, as in Parse.
    private static func includes(
        _ names: [String], _ keys: [[String]]
    ) throws(AuthorityError) -> [[String]] {
        var paths = Set(keys.map { Array($0.dropLast()) })
        for name in names {
            paths.insert(name == IncludedObjects.all ? [name] : try MemberPath.parse(name))
        }
        guard paths.allSatisfy({ $0.count <= includeDepth }) else {
            throw WhereClause.bad("include goes at most \(includeDepth) objects deep")
        }
        let all = Set(paths.flatMap { path in
            path.indices.map { Array(path[...$0]) }
        })
        return all.sorted { $0.count < $1.count }
    }

    /// The page to read from the store. Nil if the query filters, sorts or counts: then the route
    /// reads the longest list, and `answer(_:)` filters it here, not in SQL.
    var slice: ListSlice? {
        guard clause.isEmpty, order.isEmpty, !counts else { return nil }
        return ListSlice(skip: skip, limit: limit)
    }

    /// The page of a list that no store has cut. If the query counts, `count` is the number of
    /// objects that match.
    func page(of objects: [Findable]) -> (forms: [[String: JSONValue]], count: Int?) {
        let fitting = objects.filter { clause.fits($0.form.merging($0.unshown) { $1 }) }
        let page = sorted(fitting.map(\.form)).dropFirst(skip).prefix(limit)
        return (Array(page), counts ? fitting.count : nil)
    }

    func shown(_ form: [String: JSONValue]) -> [String: JSONValue] {
        let kept = form.filter { name, _ in !excluded.contains(name) }
        return keys.map { Self.choose($0.map { $0[...] }, of: kept) } ?? kept
    }

    /// The members that keys name. A pointer stays whole.
    private static func choose(
        _ keys: [ArraySlice<String>], of members: [String: JSONValue]
    ) -> [String: JSONValue] {
        var chosen = members.filter { name, _ in always.contains(name) }
        for (name, value) in members where chosen[name] == nil {
            let below = keys.filter { $0.first == name }.map { $0.dropFirst() }
            guard !below.isEmpty else { continue }
            let isWhole = below.contains(where: \.isEmpty)
            chosen[name] = isWhole ? value : choose(below, in: value)
        }
        return chosen
    }

    private static func choose(_ keys: [ArraySlice<String>], in value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map { choose(keys, in: $0) })
        case .object(let members) where members["__type"] != .string("Pointer"):
            .object(choose(keys, of: members))
        default: value
        }
    }

    /// An object without the member comes first. Equal objects keep their order.
    func sorted(_ forms: [[String: JSONValue]]) -> [[String: JSONValue]] {
        guard !order.isEmpty else { return forms }
        return forms.enumerated().sorted { one, other in
            for (path, isDescending) in order {
                let values = (
                    MemberPath.value(path, in: one.element),
                    MemberPath.value(path, in: other.element))
                let result = Self.compare(values.0, values.1)
                if result != 0 { return isDescending ? result > 0 : result < 0 }
            }
            return one.offset < other.offset
        }.map(\.element)
    }

    private static func compare(_ one: JSONValue?, _ other: JSONValue?) -> Int {
        if let one, let other, let order = MemberOrder.compare(one, other) { return order }
        return rank(one) - rank(other)
    }

    /// A fixed order of the kinds of values, so that any list can be sorted.
    private static func rank(_ value: JSONValue?) -> Int {
        switch value {
        case nil, .null: 0
        case .integer, .number: 1
        case .string: 2
        case .object: 3
        case .array: 4
        case .bool(let flag): flag ? 6 : 5
        }
    }

    private static func number(
        _ options: [String: JSONValue], _ name: String
    ) throws(AuthorityError) -> Int? {
        guard let value = options[name] else { return nil }
        guard let number = value.asInteger ?? value.asString.flatMap(Int64.init), number >= 0
        else { throw WhereClause.bad("\(name) must be a number, 0 or more") }
        guard name != "skip" || number <= ListSlice.most else {
            throw WhereClause.bad("skip is at most \(ListSlice.most); name a range of createdAt")
        }
        return Int(min(number, Int64(ListSlice.most)))
    }

    private static func names(
        _ options: [String: JSONValue], _ name: String
    ) throws(AuthorityError) -> [String] {
        guard var value = options[name] else { return [] }
        // The Swift SDK sends the JSON text of an array.
        if let text = value.asString, text.hasPrefix("[") {
            let parsed = try? JSONValue(parsing: Array(text.utf8), limit: WhereClause.byteLimit)
            value = parsed ?? value
        }
        let list = value.asArray
        let names = list?.compactMap(\.asString)
            ?? value.asString?.split(separator: ",").map(String.init)
        guard let names, names.count == list?.count ?? names.count, names.count <= 32 else {
            throw WhereClause.bad("\(name) must be a list of at most 32 names")
        }
        return names
    }
}
