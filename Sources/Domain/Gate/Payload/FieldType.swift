/// The type of a payload member, and whether the member may be absent: `number`, `string?`.
///
/// A member that may be absent may also be null, as a Parse server reads it.
package struct FieldType: Equatable, Sendable, CustomStringConvertible {
    package let value: ValueType
    package let isOptional: Bool

    static let anything = FieldType(.any)

    package init(_ value: ValueType, isOptional: Bool = false) {
        self.value = value
        self.isOptional = isOptional
    }

    /// An object with these fields and no others.
    package init(fields: [String: FieldType], isOptional: Bool = false) {
        self.init(.object(FieldRules(fields)), isOptional: isOptional)
    }

    /// Parses a type with or without `?`, such as `number(-40..85)?`.
    package init(_ text: String) throws(GrammarError) {
        isOptional = text.last == "?"
        guard let value = ValueType(isOptional ? text.dropLast() : text[...]) else {
            throw GrammarError(
                "a field is one of string, number, integer, boolean, null, any, array, object "
                    + "and enum(a|b), with bounds as in string(1..64), number(-40..85) and "
                    + "array(number, ..8), in a policy file with a unit as in "
                    + "number(-40..85, °C), and with ? if it may be absent")
        }
        self.value = value
    }

    package var description: String { value.description + (isOptional ? "?" : "") }

    /// Why a field cannot have this name, or nil.
    ///
    /// A rule that lists such a name does not open it: the scanner still refuses the key.
    package static func nameFault(_ name: String) -> String? {
        let bytes = name.utf8
        if name == "ACL" { return "ACL is set by the server only" }
        let isValid =
            (1...128).contains(bytes.count) && bytes.first?.isLetter == true
            && bytes.allSatisfy { $0.isLetter || $0.isDigit || "_-".utf8.contains($0) }
        return isValid ? nil : "a field's name is a letter and up to 127 of A-Z, a-z, 0-9, _ and -"
    }
}
