package import Gate

/// Why the scanner refuses what Foundation's decoder takes: the whole list.
package enum Strictness: String, CaseIterable, Sendable {
    // Foundation takes what the grammar does not have.
    /// Source: RFC 8259 §4, §5.
    case trailingComma = "a comma before a closing bracket"
    /// Foundation guesses from NULs and marks. Source: RFC 8259 §8.1.
    case otherEncoding = "UTF-16, UTF-32 or a byte-order mark"

    // The grammar takes what readers make different things of.
    /// Foundation's decoder keeps the first, JSONSerialization the last. Source: RFC 7493 §2.3.
    case duplicateKey = "the same key twice"
    case tooDeep = "more than 32 levels"
    case tooManyMembers = "more than 512 keys in an object nobody typed"
    /// As long as a number may be; Foundation reads any.
    case longNumber = "a number of more than 1024 bytes"
    /// The rules ask how an integer is written, and no tree keeps that.
    case integerForm = "an integer with a fraction or an exponent"

    // A Parse server cannot store it, or obeys it.
    case badKey = "a key that cannot be stored"
    case serverKey = "a key that a server obeys"
    case protectedClass = "a pointer to a class of the system's"

    /// Nil for a fault that Foundation shows as well.
    package init?(_ fault: FieldFault, in payload: [UInt8]) {
        switch fault.kind {
        case .duplicateKey: self = .duplicateKey
        case .tooDeep: self = .tooDeep
        case .tooManyMembers: self = .tooManyMembers
        case .badKey: self = .badKey
        case .serverKey: self = .serverKey
        case .protectedClass: self = .protectedClass
        case .overflow where Self.hasLongNumber(payload): self = .longNumber
        case .notJSON where Self.hasOtherEncoding(payload): self = .otherEncoding
        case .notJSON(.unexpected, let offset) where Self.hasComma(payload, before: offset):
            self = .trailingComma
        case .wrongType(let expected) where expected.hasPrefix("integer"): self = .integerForm
        default: return nil
        }
    }

    /// Whether a reader of trees has to refuse it, too, and not for its syntax.
    var isSeenInTree: Bool {
        switch self {
        case .badKey, .serverKey, .protectedClass: true
        default: false
        }
    }

    private static func hasOtherEncoding(_ payload: [UInt8]) -> Bool {
        let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]]
        return payload.prefix(4).contains(0) || marks.contains { payload.starts(with: $0) }
    }

    private static func hasComma(_ payload: [UInt8], before offset: Int) -> Bool {
        guard payload.indices.contains(offset), "]}".utf8.contains(payload[offset]) else {
            return false
        }
        return payload[..<offset].last { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: ",")
    }

    private static func hasLongNumber(_ payload: [UInt8]) -> Bool {
        payload.split { !("0"..."9").contains(Unicode.Scalar($0)) && !"+-.eE".utf8.contains($0) }
            .contains { $0.count > 1024 }
    }
}
