extension FieldType {
    /// What `parse` reads as these fields. The bounds of an array whose elements are objects
    /// with fields of their own cannot be written.
    package static func declarations(
        of fields: [String: FieldType]
    ) -> [String: FieldDeclaration] {
        FieldRules(fields).declarations
    }
}

extension FieldRules {
    fileprivate var declarations: [String: FieldDeclaration] {
        var declared: [String: FieldDeclaration] = [:]
        for field in fields {
            let nested = field.type.value.nestedDeclaration
            let name = field.name + (nested != nil && field.type.isOptional ? "?" : "")
            declared[name] = nested ?? .type(field.type.description)
        }
        return declared
    }
}

extension ValueType {
    /// Of objects whose members are listed, and arrays of them; nil for all else.
    fileprivate var nestedDeclaration: FieldDeclaration? {
        switch self {
        case .object(let fields?): .object(fields.declarations)
        case .array(.object(let fields?), _): .objects(fields.declarations)
        default: nil
        }
    }
}
