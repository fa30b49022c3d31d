extension FieldType {
    /// The declarations that `parse` reads as these fields. Cannot express the bounds of an array
    /// whose elements are objects with listed fields.
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
    /// For objects with listed members and arrays of such objects; nil for all other types.
    fileprivate var nestedDeclaration: FieldDeclaration? {
        switch self {
        case .object(let fields?): .object(fields.declarations)
        case .array(.object(let fields?), _): .objects(fields.declarations)
        default: nil
        }
    }
}
