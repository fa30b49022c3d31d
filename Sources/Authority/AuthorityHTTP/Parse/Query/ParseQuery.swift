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
    private var keys: Set<String>?
    private var excluded: Set<String> = []
    private(set) var counts = false

    /// Every object has these.
    private static let always: Set<String> = [
        "objectId", "createdAt", "updatedAt", "ACL", "className",
    ]
    /// `include` is accepted and changes nothing: pointers stay pointers. A client reads the object
    /// of a pointer by its own route.
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
        counts = try Self.number(options, "count") ?? 0 > 0
        for name in try Self.names(options, "order") {
            let isDescending = name.hasPrefix("-")
            let path = try MemberPath.parse(isDescending ? String(name.dropFirst()) : name)
            order.append((path, isDescending))
        }
        if options["keys"] != nil {
            keys = Set(try Self.names(options, "keys")).union(Self.always)
        }
        excluded = Set(try Self.names(options, "excludeKeys")).subtracting(Self.always)
    }

    /// The page to read from the store. Nil if the query filters, sorts or counts: then the route
    /// reads the longest list, and `answer(_:)` filters it here, not in SQL.
    var slice: ListSlice? {
        guard clause.isEmpty, order.isEmpty, !counts else { return nil }
        return ListSlice(skip: skip, limit: limit)
    }

    /// `{"results"}` of a list that the store has cut to `slice`.
    func answer(page: [[String: JSONValue]]) -> Answer {
        Answer(["results": .array(page.map { .object(shown($0)) })])
    }

    /// `{"results"}`. If the query counts, `count` is the number of `objects` that match.
    func answer(_ objects: [Findable]) -> Answer {
        let fitting = objects.filter { clause.fits($0.form.merging($0.unshown) { $1 }) }
        let page = sorted(fitting.map(\.form)).dropFirst(skip).prefix(limit)
        var members: [String: JSONValue] = ["results": .array(page.map { .object(shown($0)) })]
        if counts { members["count"] = .integer(Int64(fitting.count)) }
        return Answer(members)
    }

    func shown(_ form: [String: JSONValue]) -> [String: JSONValue] {
        form.filter { name, _ in keys?.contains(name) ?? true && !excluded.contains(name) }
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
        guard let value = options[name] else { return [] }
        let names = value.asArray?.compactMap(\.asString)
            ?? value.asString?.split(separator: ",").map(String.init)
        guard let names, names.count <= 32 else {
            throw WhereClause.bad("\(name) must be a list of at most 32 names")
        }
        return names
    }
}
