/// Checks JSON in one pass over its bytes, without building a tree.
///
/// It checks what a receiver would read, so it is stricter than RFC 8259: no duplicate key
/// (compared decoded), no lone surrogate, no number that overflows a double, no byte-order mark, at
/// most 32 levels. Source: RFC 8259, RFC 7493 §2 (I-JSON), RFC 3629 §4.
struct PayloadScanner {
    /// The most levels of nested objects and arrays, the document itself included.
    static let maxDepth = 32
    /// The most members of one object without field rules.
    static let maxMembers = 512

    let bytes: [UInt8]
    var position = 0
    /// Whether fields that are not optional must be present.
    let requiresAll: Bool
    /// The keys of the open objects without field rules, innermost object last.
    var openKeys: [OpenKey] = []

    init(_ bytes: [UInt8], requiresAll: Bool) {
        self.bytes = bytes
        self.requiresAll = requiresAll
    }

    /// The fault of a record with these fields, or nil. Allocates only for a refusal, and for
    /// objects without field rules.
    static func fault(
        in bytes: [UInt8], rules: FieldRules, requiresAll: Bool
    ) -> FieldFault? {
        var scanner = PayloadScanner(bytes, requiresAll: requiresAll)
        do throws(FieldFault) {
            scanner.skipSpace()
            if scanner.next == UInt8(ascii: "{") {
                try scanner.object(rules, depth: 1)
            } else {
                try scanner.value(.object(rules), depth: 0)
            }
            try scanner.end()
            return nil
        } catch {
            return error
        }
    }

    /// The fault of a document of this type, or nil.
    static func fault(in bytes: [UInt8], type: ValueType) -> FieldFault? {
        var scanner = PayloadScanner(bytes, requiresAll: true)
        do throws(FieldFault) {
            scanner.skipSpace()
            try scanner.value(type, depth: 0)
            try scanner.end()
            return nil
        } catch {
            return error
        }
    }

    mutating func end() throws(FieldFault) {
        skipSpace()
        guard position == bytes.count else { throw flaw(.trailing) }
    }

    func flaw(_ flaw: JSONFlaw) -> FieldFault {
        FieldFault(.notJSON(position < bytes.count ? flaw : atEnd(flaw), offset: position))
    }

    /// A document that ends too early is truncated, whatever character was expected.
    private func atEnd(_ flaw: JSONFlaw) -> JSONFlaw { flaw == .unexpected ? .truncated : flaw }

    /// The byte at this position, or 0 at the end. No syntax rule accepts NUL.
    var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func skipSpace() {
        if next <= 0x20 { position = endOfSpace(from: position) }
    }

    private func endOfSpace(from start: Int) -> Int {
        let span = bytes.span
        var index = start
        while index < span.count, span[index].isSpace { index += 1 }
        return index
    }

    mutating func expect(_ byte: UInt8) throws(FieldFault) {
        guard next == byte else { throw flaw(.unexpected) }
        position += 1
    }

    mutating func expect(_ word: String) throws(FieldFault) {
        for byte in word.utf8 { try expect(byte) }
    }

    /// Scans and checks one value. `depth` is the number of objects and arrays around it.
    mutating func value(_ type: ValueType, depth: Int) throws(FieldFault) {
        switch next {
        case UInt8(ascii: "{"):
            switch type {
            case .object(let fields?): try object(fields, depth: depth + 1)
            case .object(nil), .any: try freeObject(depth: depth + 1)
            default: throw wrongType(type)
            }
        case UInt8(ascii: "["):
            switch type {
            case .array(let element, let range):
                try array(of: element, count: range, depth: depth + 1)
            case .any: try array(of: .any, count: .any, depth: depth + 1)
            default: throw wrongType(type)
            }
        case UInt8(ascii: "\""): try stringValue(type)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try numberValue(type)
        case UInt8(ascii: "t"): try word("true", type, is: .boolean)
        case UInt8(ascii: "f"): try word("false", type, is: .boolean)
        case UInt8(ascii: "n"): try word("null", type, is: .null)
        default: throw flaw(.unexpected)
        }
    }

    func wrongType(_ expected: ValueType) -> FieldFault {
        FieldFault(.wrongType(expected: expected.description))
    }

    private mutating func word(
        _ word: String, _ type: ValueType, is own: WordType
    ) throws(FieldFault) {
        try expect(word)
        switch (type, own) {
        case (.any, _), (.boolean, .boolean), (.null, .null): return
        default: throw wrongType(type)
        }
    }

    private enum WordType { case boolean, null }

    private mutating func stringValue(_ type: ValueType) throws(FieldFault) {
        let string = try string()
        switch type {
        case .any: return
        case .string(let range):
            guard range.isOpen || range.contains(string.decodedLength) else {
                throw FieldFault(.outOfRange(expected: type.description))
            }
        case .oneOf(let values):
            guard values.contains(where: { string.equals($0, in: bytes) }) else {
                throw FieldFault(.outOfRange(expected: type.description))
            }
        default: throw wrongType(type)
        }
    }

    private mutating func numberValue(_ type: ValueType) throws(FieldFault) {
        let number = try number()
        guard number.value.isFinite else { throw FieldFault(.overflow) }
        switch type {
        case .any: return
        case .number(let range):
            guard range.contains(number.value) else {
                throw FieldFault(.outOfRange(expected: type.description))
            }
        case .integer(let range):
            guard number.isInteger else { throw wrongType(type) }
            guard number.value.magnitude <= 9_007_199_254_740_991, range.contains(number.value)
            else { throw FieldFault(.outOfRange(expected: type.description)) }
        default: throw wrongType(type)
        }
    }
}

extension UInt8 {
    /// Source: RFC 8259 §2, ws.
    fileprivate var isSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
