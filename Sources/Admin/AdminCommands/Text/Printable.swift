/// Makes text from elsewhere safe to show on a terminal.
enum Printable {
    /// One line. Characters that move the cursor, reorder text or are invisible become escapes.
    static func line(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                if isVisible(scalar) {
                    result.unicodeScalars.append(scalar)
                } else {
                    result += "\\u{\(String(scalar.value, radix: 16))}"
                }
            }
        }
        return result
    }

    /// One line without a run of spaces, so that a name cannot look like two columns.
    static func cell(_ text: String) -> String {
        var result = ""
        var follows = true
        for scalar in line(text).unicodeScalars {
            let isSpace = scalar.properties.generalCategory == .spaceSeparator
            if isSpace && follows {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
            follows = isSpace
        }
        return result
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
            .unassigned: false
        default: true
        }
    }

    /// The number of columns that a terminal uses for the text: 2 for East Asian wide and fullwidth
    /// characters and pictographs, 0 for combining marks, 1 for all others.
    ///
    /// Source: UAX #11, the ranges of W and F by their blocks.
    static func width(_ text: String) -> Int {
        text.reduce(0) { $0 + width(of: $1) }
    }

    private static func width(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        if first.properties.isEmojiPresentation { return 2 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF,
            0x4E00...0x9FFF, 0xA000...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD: return 2
        default: return 1
        }
    }

    /// The text, cut to `columns` with an ellipsis if it is wider.
    static func cut(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = width(of: character)
            guard used + next <= columns - 1 else { break }
            result.append(character)
            used += next
        }
        return columns > 0 ? result + "…" : ""
    }
}
