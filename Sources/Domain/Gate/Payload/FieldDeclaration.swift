/// A field as a policy file or a scope writes it, not understood yet.
///
/// Both write the same: a type's text, an object of named fields, or a list of one object, which
/// is an array of such objects. `?` behind a name of the latter two says that it may be absent.
package indirect enum FieldDeclaration: Sendable {
    case type(String)
    case object([String: FieldDeclaration])
    case objects([String: FieldDeclaration])
}

/// What is wrong with a declaration, and at which names from the outside in.
package struct FieldDeclarationFault: Error, Equatable, Sendable {
    package let path: [String]
    package let sentence: String
}

extension FieldType {
    /// Reads the members of `fields`; nothing is repaired or left out.
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
                throw FieldDeclarationFault(path: place, sentence: "stands here twice")
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
