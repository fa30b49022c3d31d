/// A scanned JSON number.
struct ScannedNumber {
    /// Infinite if a double cannot hold the number.
    let value: Double
    /// Whether the number has no fraction and no exponent.
    let isInteger: Bool
}

/// Numbers: their syntax, and their value as a double.
extension PayloadScanner {
    /// The longest number that is converted, in bytes. A longer number counts as overflow.
    private static let longestNumber = 1024

    /// Scans the number at this position. Source: RFC 8259 §6.
    mutating func number() throws(FieldFault) -> ScannedNumber {
        let start = position
        let isNegative = next == UInt8(ascii: "-")
        if isNegative { position += 1 }
        var digits = Digits()
        if next == UInt8(ascii: "0"), position < bytes.count {
            position += 1
        } else {
            try scanDigits(into: &digits)
        }
        var isInteger = true
        if next == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            let before = position
            try scanDigits(into: &digits)
            digits.scale = before - position
        }
        let hasExponent = next | 0x20 == UInt8(ascii: "e")
        if hasExponent {
            isInteger = false
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            var ignored = Digits()
            try scanDigits(into: &ignored)
        }
        if !hasExponent, let exact = digits.exactValue {
            return ScannedNumber(value: isNegative ? -exact : exact, isInteger: isInteger)
        }
        return ScannedNumber(value: parse(from: start), isInteger: isInteger)
    }

    @inline(__always)
    private mutating func scanDigits(into digits: inout Digits) throws(FieldFault) {
        guard next.isDigit else {
            throw flaw(position < bytes.count ? .badNumber : .unexpected)
        }
        let end = digits.add(all: bytes.span, from: position)
        position = end
    }

    /// Converts the rare numbers that have many digits or an exponent.
    private func parse(from start: Int) -> Double {
        guard position - start <= Self.longestNumber else { return .infinity }
        var text = ""
        for index in start..<position { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        return Double(text) ?? .infinity
    }
}

/// A number's digits, as long as a double can hold them exactly.
private struct Digits {
    private var mantissa: UInt64 = 0
    private var count = 0
    /// The power of ten to multiply the digits with; never above 0.
    var scale = 0

    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ]

    /// Adds the digits that begin at `start`, and returns the position after them.
    @inline(__always)
    mutating func add(all bytes: Span<UInt8>, from start: Int) -> Int {
        var digits = self
        var index = start
        while index < bytes.count, bytes[index].isDigit {
            digits.count += 1
            if digits.count <= 15 {
                digits.mantissa = digits.mantissa * 10 + UInt64(bytes[index] - UInt8(ascii: "0"))
            }
            index += 1
        }
        self = digits
        return index
    }

    /// The value, rounded once, if the number has at most 15 digits; else nil.
    ///
    /// Both parts are then exact doubles, so one division rounds correctly.
    var exactValue: Double? {
        guard count <= 15, -scale < Self.powers.count else { return nil }
        return Double(mantissa) / Self.powers[-scale]
    }
}
