import AuthorityCore
import Sessions
import Wire

/// The name of a member in a query: `createdWith.action`.
enum MemberPath {
    /// Members that no query may name, for any class: 119.
    private static let secret: Set<String> = [
        "sessionToken", "accessToken", "refreshToken", "password", "authData",
    ]

    /// 105 for text that cannot be a name. Names that begin with `_` are refused too.
    static func parse(_ text: String) throws(AuthorityError) -> [String] {
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= 256, names.count <= 8, let first = names.first,
            !first.hasPrefix("_"), names.allSatisfy(isName)
        else { throw .refused(Refusal(.badKeyName, "Invalid key name in a query")) }
        guard !names.contains(where: secret.contains) else {
            throw .refused(Refusal(.forbidden, "queries on \(first) are not allowed"))
        }
        return names
    }

    static func value(_ path: [String], in object: [String: JSONValue]) -> JSONValue? {
        var value: JSONValue? = .object(object)
        for name in path { value = value?.asObject?[name] }
        return value
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
    }
}

/// Compares members as Parse does: numbers with numbers, texts with texts, times with times, and
/// pointers by their class and object. Values of different kinds are neither equal nor in order.
enum MemberOrder {
    enum Comparison: String, Sendable {
        case less = "$lt"
        case atMost = "$lte"
        case greater = "$gt"
        case atLeast = "$gte"

        func holds(_ value: JSONValue?, _ other: JSONValue) -> Bool {
            guard let value, let order = MemberOrder.compare(value, other) else { return false }
            return switch self {
            case .less: order < 0
            case .atMost: order <= 0
            case .greater: order > 0
            case .atLeast: order >= 0
            }
        }
    }

    static func areEqual(_ one: JSONValue, _ other: JSONValue) -> Bool {
        if let order = compare(one, other) { return order == 0 }
        if let pointer = pointer(one) { return pointer == self.pointer(other) }
        return one == other
    }

    /// Below 0, 0 or above 0; nil if the values have no order.
    static func compare(_ one: JSONValue, _ other: JSONValue) -> Int? {
        if let first = number(one), let second = number(other) { return order(first, second) }
        // `createdAt` is a text in answers and a Date in queries.
        if isDate(one) || isDate(other) {
            guard let first = time(one), let second = time(other) else { return nil }
            return order(first.milliseconds, second.milliseconds)
        }
        if case .string(let first) = one, case .string(let second) = other {
            return order(first, second)
        }
        return nil
    }

    private static func order<T: Comparable>(_ one: T, _ other: T) -> Int {
        one < other ? -1 : one == other ? 0 : 1
    }

    private static func number(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    private static func isDate(_ value: JSONValue) -> Bool {
        value.asObject?["__type"] == .string("Date")
    }

    static func time(_ value: JSONValue) -> Timestamp? {
        (value.asString ?? value.asObject?["iso"]?.asString).flatMap(ParseDate.parse)
    }

    private static func pointer(_ value: JSONValue) -> [JSONValue?]? {
        guard let members = value.asObject, members["__type"] == .string("Pointer") else {
            return nil
        }
        return [members["className"], members["objectId"]]
    }
}
