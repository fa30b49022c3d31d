extension ValueType {
    /// Parses a type. Nil for any other text, for an empty range, and for types nested deeper than
    /// a payload may be.
    package init?(_ text: some StringProtocol) {
        self.init(Substring(text), depth: 0)
    }

    private init?(_ text: Substring, depth: Int) {
        guard depth < PayloadScanner.maxDepth else { return nil }
        guard let open = text.firstIndex(of: "(") else {
            guard let plain = Self.plain(text) else { return nil }
            self = plain
            return
        }
        guard text.last == ")" else { return nil }
        let inside = text[text.index(after: open)...].dropLast()
        switch text[..<open] {
        case "string":
            guard let range = CountRange(inside) else { return nil }
            self = .string(range)
        case "number":
            guard let range = NumberRange(inside) else { return nil }
            self = .number(range)
        case "integer":
            guard let range = NumberRange(inside), range.isWhole else { return nil }
            self = .integer(range)
        case "enum":
            let values = inside.split(separator: "|", omittingEmptySubsequences: false)
            guard !inside.isEmpty, Set(values).count == values.count else { return nil }
            self = .oneOf(values.map(String.init))
        case "array":
            guard let array = Self.array(inside, depth: depth) else { return nil }
            self = array
        default: return nil
        }
    }

    private static func plain(_ text: Substring) -> ValueType? {
        switch text {
        case "string": .string(.any)
        case "number": .number(.any)
        case "integer": .integer(.any)
        case "boolean": .boolean
        case "null": .null
        case "any": .any
        case "array": .array(.any, .any)
        case "object": .object(nil)
        default: nil
        }
    }

    /// Parses `ELEMENT` or `ELEMENT, RANGE`. A range has no comma and no parenthesis. So the text
    /// behind the last comma is a range only if it parses as one.
    private static func array(_ inside: Substring, depth: Int) -> ValueType? {
        if let comma = inside.lastIndex(of: ",") {
            let behind = inside[inside.index(after: comma)...].drop { $0 == " " }
            if let range = CountRange(behind),
                let element = ValueType(inside[..<comma], depth: depth + 1)
            {
                return .array(element, range)
            }
        }
        return ValueType(inside, depth: depth + 1).map { .array($0, .any) }
    }
}

extension CountRange {
    /// Parses `1..64`, `..64` or `1..`; nil for anything else and for an empty range.
    init?(_ text: Substring) {
        guard let (lower, upper) = bounds(of: text) else { return nil }
        self.lower = Int(lower)
        self.upper = Int(upper)
        for (bound, value) in [(lower, self.lower), (upper, self.upper)] where !bound.isEmpty {
            guard value != nil, bound.utf8.allSatisfy(\.isDigit) else { return nil }
        }
        guard !isOpen, self.lower ?? 0 <= self.upper ?? .max else { return nil }
    }
}

extension NumberRange {
    /// Parses `-40..85`, `..0.5` or `0..`; nil for anything else and for an empty range.
    init?(_ text: Substring) {
        guard let (lower, upper) = bounds(of: text) else { return nil }
        self.lower = Self.number(lower)
        self.upper = Self.number(upper)
        guard lower.isEmpty || self.lower != nil, upper.isEmpty || self.upper != nil,
            !isOpen, self.lower ?? -.infinity <= self.upper ?? .infinity
        else { return nil }
    }

    private static func number(_ text: Substring) -> Double? {
        let allowed = text.utf8.allSatisfy {
            $0.isDigit || "+-.eE".utf8.contains($0)
        }
        guard allowed, text.first != ".", text.last != ".", let value = Double(text),
            value.isFinite
        else { return nil }
        return value
    }

    var isWhole: Bool {
        [lower, upper].allSatisfy { $0.map { Int(exactly: $0) != nil } ?? true }
    }
}

/// The texts before and behind the first `..`.
private func bounds(of text: Substring) -> (Substring, Substring)? {
    var index = text.startIndex
    while index < text.endIndex {
        let next = text.index(after: index)
        if text[index] == ".", next < text.endIndex, text[next] == "." {
            return (text[..<index], text[text.index(after: next)...])
        }
        index = next
    }
    return nil
}
