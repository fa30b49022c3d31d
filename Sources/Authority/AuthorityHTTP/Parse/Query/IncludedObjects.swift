import AuthorityCore
import Sessions
import Wire

/// The objects that one query includes.
struct IncludedObjects {
    struct Pointer: Hashable {
        let className: String
        let id: String

        init(_ className: String, _ id: String) { (self.className, self.id) = (className, id) }

        init?(_ value: [String: JSONValue]) {
            guard value["__type"] == .string("Pointer"), let name = value["className"]?.asString,
                let id = value["objectId"]?.asString
            else { return nil }
            self.init(name, id)
        }
    }

    /// The most objects that are read.
    static let limit = 1000
    /// The most bytes that they add to the answer. An object counts each time.
    static let byteLimit = 8 << 20
    /// Names every member.
    static let all = "*"
    static let tooMuch = WhereClause.bad("include reads too much; use a smaller limit")

    private var asked: Set<Pointer> = []
    private var objects: [Pointer: (value: JSONValue, bytes: Int)] = [:]
    private var bytes = 0

    /// The pointers at a path that were not read before.
    mutating func new(
        in values: [JSONValue], at path: [String]
    ) throws(AuthorityError) -> Set<Pointer> {
        var pointers: Set<Pointer> = []
        for value in values { Self.collect(value, path[...], &pointers) }
        pointers.subtract(asked)
        asked.formUnion(pointers)
        guard asked.count <= Self.limit else { throw Self.tooMuch }
        return pointers
    }

    mutating func add(_ forms: [String: [String: JSONValue]], of className: String) {
        for (id, form) in forms {
            var form = form
            form["__type"] = .string("Object")
            form["className"] = .string(className)
            let value = JSONValue.object(form)
            objects[Pointer(className, id)] = (value, value.bytes.count)
        }
    }

    /// A path goes through arrays, as in Parse.
    private static func collect(
        _ value: JSONValue, _ path: ArraySlice<String>, _ pointers: inout Set<Pointer>
    ) {
        switch value {
        case .array(let elements):
            for element in elements { collect(element, path, &pointers) }
        case .object(let members):
            guard let name = path.first else {
                if let pointer = Pointer(members) { pointers.insert(pointer) }
                return
            }
            for (key, member) in members where key == name || name == all {
                collect(member, path.dropFirst(), &pointers)
            }
        default: return
        }
    }

    mutating func put(
        into value: JSONValue, at path: ArraySlice<String>
    ) throws(AuthorityError) -> JSONValue {
        switch value {
        case .array(let elements):
            var new: [JSONValue] = []
            for element in elements { new.append(try put(into: element, at: path)) }
            return .array(new)
        case .object(var members):
            guard let name = path.first else {
                guard let pointer = Pointer(members), let object = objects[pointer] else {
                    return value
                }
                bytes += object.bytes
                guard bytes <= Self.byteLimit else { throw Self.tooMuch }
                return object.value
            }
            for (key, member) in members where key == name || name == Self.all {
                members[key] = try put(into: member, at: path.dropFirst())
            }
            return .object(members)
        default: return value
        }
    }
}
