import Sessions
import Wire

/// A new value of a field, or one of Parse's operations on it: `{"__op": …}`.
///
/// Source: Parse REST guide, Updating objects (Counters, Arrays) and Deleting fields.
enum FieldOperation {
    case set(JSONValue)
    case delete
    case increment(JSONValue)
    case add([JSONValue])
    case addUnique([JSONValue])
    case remove([JSONValue])

    /// Values in one operation.
    private static let limit = 256

    /// 119 for an operation that this authority does not have, 111 for a malformed one.
    init(_ value: JSONValue) throws(AuthorityError) {
        guard let members = value.asObject, let name = members["__op"] else {
            self = .set(value)
            return
        }
        switch name {
        case .string("Delete"): self = .delete
        case .string("Increment"):
            guard let amount = members["amount"], amount.isNumber else {
                throw .refuse(.wrongType, "Increment needs a number as its amount")
            }
            self = .increment(amount)
        case .string("Add"): self = .add(try Self.objects(members))
        case .string("AddUnique"): self = .addUnique(try Self.objects(members))
        case .string("Remove"): self = .remove(try Self.objects(members))
        default:
            throw .refuse(
                .forbidden,
                "a field knows the operations Delete, Increment, Add, AddUnique and Remove")
        }
    }

    private static func objects(
        _ members: [String: JSONValue]
    ) throws(AuthorityError) -> [JSONValue] {
        guard let objects = members["objects"]?.asArray else {
            throw .refuse(.wrongType, "objects must be an array")
        }
        guard objects.count <= limit else {
            throw .refuse(.validation, "an operation has at most \(limit) objects")
        }
        return objects
    }

    /// The field's new value; nil if it has none. A field without a value is 0, or empty.
    func result(on old: JSONValue?) throws(AuthorityError) -> JSONValue? {
        switch self {
        case .set(let value): return value
        case .delete: return nil
        case .increment(let amount): return try Self.sum(old, amount)
        case .add(let objects): return .array(try Self.elements(old) + objects)
        case .addUnique(let objects):
            var elements = try Self.elements(old)
            for object in objects where !elements.contains(object) { elements.append(object) }
            return .array(elements)
        case .remove(let objects):
            return .array(try Self.elements(old).filter { !objects.contains($0) })
        }
    }

    private static func elements(_ old: JSONValue?) throws(AuthorityError) -> [JSONValue] {
        switch old {
        case nil, .null?: return []
        case .array(let elements)?: return elements
        default:
            throw .refuse(.wrongType, "Add, AddUnique and Remove need a field with an array")
        }
    }

    private static func sum(
        _ old: JSONValue?, _ amount: JSONValue
    ) throws(AuthorityError) -> JSONValue {
        let old = old ?? .null
        if old == .null { return amount }
        if case .integer(let one) = old, case .integer(let other) = amount {
            let (sum, overflows) = one.addingReportingOverflow(other)
            guard !overflows else { throw tooGreat }
            return .integer(sum)
        }
        guard let one = old.asDouble, let other = amount.asDouble else {
            throw .refuse(.wrongType, "Increment needs a field with a number")
        }
        guard (one + other).isFinite else { throw tooGreat }
        return .number(one + other)
    }

    private static let tooGreat = AuthorityError.refuse(
        .validation, "the incremented number is too great")
}

extension JSONValue {
    fileprivate var isNumber: Bool { asDouble != nil }

    fileprivate var asDouble: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }
}
