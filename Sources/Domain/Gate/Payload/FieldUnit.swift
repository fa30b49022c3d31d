/// The unit of a number, as a policy file names it: `number(-60..125, °C)`. It decides nothing.
///
/// 1 to 16 characters: letters, digits, symbols, punctuation, and single spaces inside. It does not
/// begin with a digit, sign or point, so that no bound is taken for a unit. It has no `..`, comma,
/// parenthesis, brace, quote, backslash, `<` and `>`.
package struct FieldUnit: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 64 else { return nil }
        let text = String(text)
        let scalars = text.unicodeScalars
        guard (1...16).contains(scalars.count), scalars.allSatisfy(Self.mayStand),
            let first = scalars.first, first != " ", scalars.last != " ",
            !"+-.".unicodeScalars.contains(first), first.properties.numericType == nil,
            !text.contains(".."), !text.contains("  ")
        else { return nil }
        description = text
    }

    private static func mayStand(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            return scalar.value >= 0x20 && scalar.value < 0x7f
                && !",(){}\"'`\\<>".unicodeScalars.contains(scalar)
        }
        return switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .decimalNumber, .letterNumber, .otherNumber, .mathSymbol, .currencySymbol,
            .modifierSymbol, .otherSymbol, .dashPunctuation, .otherPunctuation:
            true
        default: false
        }
    }
}

extension FieldUnit {
    /// Splits `number(-60..125, °C)?` into `number(-60..125)?` and `°C`, and `integer(lx)` into
    /// `integer` and `lx`. Another text is returned as it is.
    static func split(_ text: String) -> (type: String, unit: FieldUnit?) {
        let isOptional = text.last == "?"
        let body = isOptional ? text.dropLast() : text[...]
        guard body.last == ")", let open = body.firstIndex(of: "(") else { return (text, nil) }
        let (kind, inside) = (body[..<open], body[body.index(after: open)...].dropLast())
        guard kind == "number" || kind == "integer" else { return (text, nil) }
        let mark = isOptional ? "?" : ""
        if let comma = inside.lastIndex(of: ",") {
            let behind = inside[inside.index(after: comma)...].drop { $0 == " " }
            guard let unit = FieldUnit(behind) else { return (text, nil) }
            return ("\(kind)(\(inside[..<comma]))\(mark)", unit)
        }
        return FieldUnit(inside).map { ("\(kind)\(mark)", $0) } ?? (text, nil)
    }

    /// `type` with this unit, as `split` reads it.
    func added(to type: FieldType) -> String {
        let mark = type.isOptional ? "?" : ""
        let text = type.value.description
        let inside = text.last == ")" ? "\(text.dropLast()), \(self))" : "\(text)(\(self))"
        return inside + mark
    }
}

extension FieldDeclaration {
    /// The declarations without units, and the units by the path to their field: `celsius`,
    /// `room.celsius`. A type inside an array has no unit and is left as it is.
    package static func splitUnits(
        of declared: [String: FieldDeclaration]
    ) -> (plain: [String: FieldDeclaration], units: [String: FieldUnit]) {
        var plain = declared
        var units: [String: FieldUnit] = [:]
        for (key, declaration) in declared {
            switch declaration {
            case .type(let text):
                let (type, unit) = FieldUnit.split(text)
                plain[key] = .type(type)
                units[key] = unit
            case .object(let members):
                let inner = splitUnits(of: members)
                plain[key] = .object(inner.plain)
                let name = key.last == "?" ? String(key.dropLast()) : key
                for (path, unit) in inner.units { units["\(name).\(path)"] = unit }
            case .objects: break
            }
        }
        return (plain, units)
    }
}
