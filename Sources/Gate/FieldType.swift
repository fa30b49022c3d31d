/// What a member of a payload must be: a JSON type, bounds where it has any, and whether it
/// may be absent. Written `number`, `string?`, `number(-40..85)`, `string(1..64)`.
package struct FieldType: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        case any
        case array
        case boolean
        case integer
        case null
        case number
        case object
        case string
    }

    package let kind: Kind
    package let isOptional: Bool
    /// Of a number's value, or of a string's length in bytes of UTF-8.
    package let bounds: ClosedRange<Double>?

    package init(_ text: String) throws(GrammarError) {
        var rest = text[...]
        isOptional = rest.last == "?"
        if isOptional { rest = rest.dropLast() }
        var range: ClosedRange<Double>?
        if rest.last == ")", let open = rest.firstIndex(of: "(") {
            range = try Self.range(rest[rest.index(after: open)...].dropLast())
            rest = rest[..<open]
        }
        guard let kind = Kind(rawValue: String(rest)) else {
            let names = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw GrammarError("a field is one of \(names), with ? if it may be absent")
        }
        guard range == nil || [.number, .integer, .string].contains(kind) else {
            throw GrammarError("only number, integer and string have bounds")
        }
        self.kind = kind
        bounds = range
    }

    private static func range(_ text: Substring) throws(GrammarError) -> ClosedRange<Double> {
        let ends = text.split(separator: ".", omittingEmptySubsequences: false)
        let joined = String(text)
        guard ends.count >= 3, let middle = joined.firstRange(of: ".."),
            let low = Double(joined[..<middle.lowerBound]),
            let high = Double(joined[middle.upperBound...]),
            low.isFinite, high.isFinite, low <= high
        else { throw GrammarError("bounds are written (low..high), such as (-40..85)") }
        return low...high
    }

    package var description: String {
        let range = bounds.map { "(\($0.lowerBound)..\($0.upperBound))" } ?? ""
        return kind.rawValue + range + (isOptional ? "?" : "")
    }
}

extension String {
    /// The first place where `part` stands.
    fileprivate func firstRange(of part: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) {
                return start..<index(start, offsetBy: part.count)
            }
            start = index(after: start)
        }
        return nil
    }
}
