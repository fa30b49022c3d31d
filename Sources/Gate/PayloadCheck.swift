import Sessions

/// What is wrong with a payload under field rules.
struct PayloadFault: Error, Equatable {
    let code: ErrorCode
    let text: String
    let field: String?
}

/// Judges a JSON payload against field rules, in one pass and without building a tree.
///
/// It judges what a receiver would read: a document that two readers could understand in two
/// ways (a key twice, a lone surrogate, bytes that are not UTF-8) is refused, and so is all
/// that a Parse server would obey instead of store, however deep it stands and however its
/// key is written.
enum PayloadCheck {
    static let depthLimit = 32

    /// Nil if the payload is one JSON object with exactly these fields.
    static func fault(in payload: [UInt8], fields: [String: FieldType]) -> PayloadFault? {
        var scanner = PayloadScanner(payload)
        do throws(PayloadFault) {
            try check(&scanner, fields)
            return nil
        } catch {
            return error
        }
    }

    private static func check(
        _ scanner: inout PayloadScanner, _ fields: [String: FieldType]
    ) throws(PayloadFault) {
        var seen: Set<String> = []
        try scanner.object(depth: 1) { (key, scanner) throws(PayloadFault) in
            guard let type = fields[key] else {
                throw PayloadFault(
                    code: .badKeyName, text: "the field is not in the rule", field: key)
            }
            seen.insert(key)
            let value = try scanner.value(depth: 1, key: key)
            try judge(value, type, key)
        }
        try scanner.end()
        for (name, type) in fields where !type.isOptional && !seen.contains(name) {
            throw PayloadFault(code: .validation, text: "the field is missing", field: name)
        }
    }

    private static func judge(
        _ value: PayloadScanner.Value, _ type: FieldType, _ key: String
    ) throws(PayloadFault) {
        let fits = switch (type.kind, value) {
        case (.any, _), (.array, .array), (.boolean, .boolean), (.null, .null),
            (.object, .object), (.number, .number), (.string, .string):
            true
        case (.integer, .number(let number)): number.rounded() == number
        case (_, .null): type.isOptional
        default: false
        }
        guard fits else {
            throw PayloadFault(code: .wrongType, text: "the field is no \(type.kind)", field: key)
        }
        guard let bounds = type.bounds else { return }
        let measure: Double? = switch value {
        case .number(let number): number
        case .string(let text): Double(text.utf8.count)
        default: nil
        }
        if let measure, !bounds.contains(measure) {
            throw PayloadFault(
                code: .validation, text: "the field is outside \(type)", field: key)
        }
    }
}
