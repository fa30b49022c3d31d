import AuthorityCore
import Foundation
import Sessions
import Wire

/// The fields of a payload that have a series or a newest value.
struct RecordFields {
    var numbers: [(field: String, value: Double)] = []
    var texts: [(field: String, value: String)] = []

    /// Sums of larger numbers could overflow in the database.
    static let greatest = 1e290

    init(_ payload: [UInt8]) {
        guard payload.count <= LiveContent.payloadLimit else { return }
        let content = LiveContent(payload)
        for (field, value) in content.values
        where abs(value) <= Self.greatest && Self.isStorable(field) {
            numbers.append((field, value))
        }
        for (field, text) in content.texts where Self.isStorable(field) {
            texts.append((field, text))
        }
    }

    /// PostgreSQL cannot store a NUL in a text. `LiveContent` leaves none in the values.
    private static func isStorable(_ text: String) -> Bool { !text.utf8.contains(0) }
}

/// The members of an object, as `DataObject.members` says.
enum ObjectMembers {
    /// The largest payload that is read as JSON. A larger one is a text.
    private static let payloadLimit = 1 << 20
    /// An update that makes an object larger than this is kept as a record only.
    static let limit = 64 << 10

    /// Whether the store can read the members back: their bytes, values and depth have limits.
    static func canBeKept(_ members: [String: JSONValue]) -> Bool {
        do throws(WireError) {
            _ = try JSONValue(parsing: JSONValue.object(members).bytes, limit: limit)
            return true
        } catch {
            return false
        }
    }

    static func of(_ payload: [UInt8]) -> [String: JSONValue] {
        do throws(WireError) {
            let value = try JSONValue(parsing: payload, limit: payloadLimit)
            return value.asObject ?? ["value": value]
        } catch {
            guard let text = String(validating: payload, as: UTF8.self) else {
                let base64 = Data(payload).base64EncodedString()
                return ["value": .object([
                    "__type": .string("Bytes"), "base64": .string(base64),
                ])]
            }
            return ["value": .string(text)]
        }
    }

    /// Merges the members of an update into those of an object, as Parse does.
    ///
    /// Of Parse's operations, `Delete` removes the member and `Increment` adds to a number. Any
    /// other value replaces the member.
    static func merge(_ changes: [String: JSONValue], into members: inout [String: JSONValue]) {
        for (name, change) in changes {
            switch change.asObject?["__op"] {
            case .string("Delete")?: members[name] = nil
            case .string("Increment")?: members[name] = sum(members[name], change)
            default: members[name] = change
            }
        }
    }

    private static func sum(_ old: JSONValue?, _ change: JSONValue) -> JSONValue? {
        let amount = change.asObject?["amount"] ?? .integer(1)
        switch (old ?? .integer(0), amount) {
        case (.integer(let old), .integer(let amount)):
            let (sum, overflow) = old.addingReportingOverflow(amount)
            return overflow ? .number(Double(old) + Double(amount)) : .integer(sum)
        case (.integer(let old), .number(let amount)): return finite(Double(old) + amount)
        case (.number(let old), .integer(let amount)): return finite(old + Double(amount))
        case (.number(let old), .number(let amount)): return finite(old + amount)
        default: return old
        }
    }

    private static func finite(_ number: Double) -> JSONValue? {
        number.isFinite ? .number(number) : nil
    }
}
