package import Gate
package import Sessions

/// Judges a payload's tree, as a receiver has it, by the words of the rule page.
///
/// It knows nothing of the scanner: what it says of Foundation's tree, the scanner has to say
/// of the bytes.
package struct ReferenceJudge {
    /// Whether the record's own fields must be there; within them it is so always.
    let requiresAll: Bool

    package init(requiresAll: Bool) { self.requiresAll = requiresAll }

    func permits(
        _ members: [String: JSONValue], as fields: [String: Shape.Member], isRecord: Bool
    ) -> Bool {
        for (key, value) in members {
            // Byte for byte: Swift's dictionaries take canonically equal keys for one.
            guard let (name, field) = fields.first(where: { $0.key.utf8.elementsEqual(key.utf8) }),
                FieldType.nameFault(name) == nil, !hides(key, value)
            else { return false }
            if value == .null, field.isOptional { continue }
            guard permits(value, as: field.shape) else { return false }
        }
        return isRecord && !requiresAll || fields.allSatisfy { $1.isOptional || members[$0] != nil }
    }

    private func permits(_ value: JSONValue, as shape: Shape) -> Bool {
        switch (shape, value) {
        case (.object(let fields), .object(let members)): 
            permits(members, as: fields, isRecord: false)
        case (.objects(let fields), .array(let elements)):
            elements.allSatisfy { permits($0, as: .object(fields)) }
        case (.value(let type), _): permits(value, as: type)
        default: false
        }
    }

    package func permits(_ value: JSONValue, as type: ValueType) -> Bool {
        switch (type, value) {
        case (.any, .object(let members)), (.object(nil), .object(let members)):
            members.allSatisfy { !hides($0, $1) && mayStand($0) && permits($1, as: .any) }
        case (.any, .array(let elements)): elements.allSatisfy { permits($0, as: .any) }
        case (.any, _), (.null, .null), (.boolean, .bool): true
        case (.string(let range), .string(let text)): contains(range, text.utf8.count)
        case (.oneOf(let choices), .string(let text)):
            choices.contains { $0.utf8.elementsEqual(text.utf8) }
        case (.array(let element, let range), .array(let elements)):
            contains(range, elements.count) && elements.allSatisfy { permits($0, as: element) }
        case (.number(let range), .integer(let number)): contains(range, Double(number))
        case (.number(let range), .number(let number)): contains(range, number)
        case (.integer(let range), .integer(let number)): isInteger(Double(number), within: range)
        case (.integer(let range), .number(let number)): isInteger(number, within: range)
        default: false
        }
    }

    private func isInteger(_ number: Double, within range: NumberRange) -> Bool {
        number.rounded() == number && number.magnitude < 0x1p53 && contains(range, number)
    }

    private func contains(_ range: CountRange, _ count: Int) -> Bool {
        count >= range.lower ?? 0 && count <= range.upper ?? .max
    }

    private func contains(_ range: NumberRange, _ number: Double) -> Bool {
        number >= range.lower ?? -.infinity && number <= range.upper ?? .infinity
    }

    /// What a server would obey: see "What hides in a payload" of the rule page.
    private func hides(_ key: String, _ value: JSONValue) -> Bool {
        switch (key, value) {
        case ("__op", _), ("_method", _), ("ACL", _), ("requests", .array): true
        case ("className", .string(let name)), ("redirectClassName", .string(let name)):
            name.utf8.first == UInt8(ascii: "_")
        default: false
        }
    }

    private func mayStand(_ key: String) -> Bool {
        key == "__type"
            || (1...128).contains(key.utf8.count) && key.utf8.first != UInt8(ascii: "_")
                && key.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x24 && $0 != 0x2E }
    }
}
