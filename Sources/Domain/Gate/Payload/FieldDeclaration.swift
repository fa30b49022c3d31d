/// A field as a policy file or a scope writes it, not parsed yet.
///
/// Both use the same three forms: a type's text, an object of named fields, or a list of one
/// object. The list means an array of such objects. In the last two forms a `?` behind the name
/// means that the field may be absent.
package indirect enum FieldDeclaration: Sendable {
    case type(String)
    case object([String: FieldDeclaration])
    case objects([String: FieldDeclaration])
}

/// A mistake in a declaration, with the path of names to it, outermost first.
package struct FieldDeclarationFault: Error, Equatable, Sendable {
    package let path: [String]
    package let sentence: String
}

extension FieldType {
    /// Parses the members of `fields`. Does not repair or skip anything.
    package static func parse(
        _ declared: [String: FieldDeclaration]
    ) throws(FieldDeclarationFault) -> [String: FieldType] {
        try parse(declared, within: [])
    }

    private static func parse(
        _ declared: [String: FieldDeclaration], within path: [String]
    ) throws(FieldDeclarationFault) -> [String: FieldType] {
        guard path.count < PayloadScanner.maxDepth else {
            throw FieldDeclarationFault(
                path: path, sentence: "is nested deeper than \(PayloadScanner.maxDepth) levels")
        }
        var fields: [String: FieldType] = [:]
        for (key, declaration) in declared.sorted(by: { $0.key < $1.key }) {
            let place = path + [key]
            let isOptional = declaration.isNested && key.last == "?"
            let name = isOptional ? String(key.dropLast()) : key
            if let sentence = nameFault(name) {
                throw FieldDeclarationFault(path: place, sentence: sentence)
            }
            guard fields[name] == nil else {
                throw FieldDeclarationFault(path: place, sentence: "is listed twice")
            }
            fields[name] = try type(declaration, isOptional: isOptional, at: place)
        }
        return fields
    }

    private static func type(
        _ declaration: FieldDeclaration, isOptional: Bool, at path: [String]
    ) throws(FieldDeclarationFault) -> FieldType {
        switch declaration {
        case .type(let text):
            do throws(GrammarError) {
                return try FieldType(text)
            } catch {
                throw FieldDeclarationFault(path: path, sentence: error.text)
            }
        case .object(let members):
            return FieldType(fields: try parse(members, within: path), isOptional: isOptional)
        case .objects(let members):
            let element = ValueType.object(FieldRules(try parse(members, within: path)))
            return FieldType(.array(element, .any), isOptional: isOptional)
        }
    }
}

extension FieldDeclaration {
    fileprivate var isNested: Bool { if case .type = self { false } else { true } }
}
