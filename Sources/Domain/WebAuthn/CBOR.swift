/// A value of CBOR, of the kinds that WebAuthn uses. Floats, tags, `undefined` and other simple
/// values are refused.
///
/// Source: RFC 8949 §3.
package enum CBOR: Equatable, Sendable {
    case unsigned(UInt64)
    /// The value -1 - n.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    /// In the order of the bytes. The keys are integers and texts, and all differ.
    case map([Entry])
    case bool(Bool)
    case null

    package struct Entry: Equatable, Sendable {
        package let key: CBOR
        package let value: CBOR

        package init(_ key: CBOR, _ value: CBOR) {
            self.key = key
            self.value = value
        }
    }

    /// Why bytes are not one value in the strict form.
    package enum Fault: Error, Equatable, Sendable, CaseIterable {
        case tooLong
        case tooDeep
        /// The bytes end within a value, or a count is larger than the bytes that follow.
        case truncated
        /// A number or a length has a shorter form.
        case notShortest
        case indefinite
        case duplicateKey
        /// A key that is no integer and no text.
        case badKey
        case badText
        /// A kind of value that WebAuthn does not use.
        case unsupported
        case trailing
    }

    /// The largest input, in bytes.
    package static let limit = 8 * 1024
    /// How deep arrays and maps may be nested. Source: CTAP 2.1 §8.
    package static let depth = 4

    /// Reads one value that fills all of `bytes`.
    package init(reading bytes: [UInt8]) throws(Fault) {
        var reader = CBORReader(bytes[...])
        self = try reader.value()
        guard reader.rest.isEmpty else { throw .trailing }
    }

    /// The value of a key in a map. Nil if this is no map, or if the key is absent.
    package subscript(key: CBOR) -> CBOR? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The number of entries, if this is a map.
    package var mapCount: Int? {
        if case .map(let entries) = self { entries.count } else { nil }
    }

    package var asBytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }

    /// An integer key or value.
    package static func integer(_ value: Int64) -> CBOR {
        value < 0 ? .negative(UInt64(-1 - value)) : .unsigned(UInt64(value))
    }
}

/// Reads values of CBOR in the strict form: the shortest lengths, nothing indefinite, no key twice.
/// Each length is compared with the bytes that are left before anything is read or allocated, so
/// the cost is linear in the input.
///
/// Source: RFC 8949 §4.2.1 and §5.3; CTAP 2.1 §8.
package struct CBORReader {
    /// The bytes that are not read yet.
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Reads the next value.
    package mutating func value() throws(CBOR.Fault) -> CBOR {
        guard rest.count <= CBOR.limit else { throw .tooLong }
        return try value(depth: 0)
    }

    private mutating func value(depth: Int) throws(CBOR.Fault) -> CBOR {
        let initial = try take(1).first ?? 0
        let major = initial >> 5
        guard major < 6 else { return try simple(initial, major) }
        let count = try argument(initial & 0x1F)
        switch major {
        case 0: return .unsigned(count)
        case 1: return .negative(count)
        case 2: return .bytes(Array(try take(length(count))))
        case 3:
            let bytes = try take(length(count))
            guard let text = String(validating: bytes, as: UTF8.self) else { throw .badText }
            return .text(text)
        case 4: return .array(try elements(length(count), depth: depth + 1))
        default: return .map(try entries(length(count), depth: depth + 1))
        }
    }

    private mutating func elements(_ count: Int, depth: Int) throws(CBOR.Fault) -> [CBOR] {
        guard depth <= CBOR.depth else { throw .tooDeep }
        var values: [CBOR] = []
        for _ in 0..<count { values.append(try value(depth: depth)) }
        return values
    }

    /// Two keys are the same if their bytes are: there is only one form of each key.
    private mutating func entries(
        _ count: Int, depth: Int
    ) throws(CBOR.Fault) -> [CBOR.Entry] {
        guard depth <= CBOR.depth else { throw .tooDeep }
        // An entry has at least two bytes.
        guard count <= rest.count / 2 else { throw .truncated }
        var entries: [CBOR.Entry] = []
        var keys: Set<ArraySlice<UInt8>> = []
        for _ in 0..<count {
            let start = rest
            let key = try value(depth: depth)
            switch key {
            case .unsigned, .negative, .text: break
            default: throw .badKey
            }
            guard keys.insert(start[..<rest.startIndex]).inserted else { throw .duplicateKey }
            entries.append(CBOR.Entry(key, try value(depth: depth)))
        }
        return entries
    }

    private func simple(_ initial: UInt8, _ major: UInt8) throws(CBOR.Fault) -> CBOR {
        switch initial {
        case 0xF4: return .bool(false)
        case 0xF5: return .bool(true)
        case 0xF6: return .null
        case 0xFF: throw .indefinite
        default: throw .unsupported
        }
    }

    /// The number that begins a value, in its shortest form. Source: RFC 8949 §3.
    private mutating func argument(_ information: UInt8) throws(CBOR.Fault) -> UInt64 {
        guard information >= 24 else { return UInt64(information) }
        guard information != 31 else { throw .indefinite }
        guard information < 28 else { throw .unsupported }
        let size = 1 << Int(information - 24)
        let number = try take(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The largest number of the next shorter form.
        let shorter: UInt64 = size == 1 ? 23 : 1 << (UInt64(size) * 4) - 1
        guard number > shorter else { throw .notShortest }
        return number
    }

    /// A length or a count, each unit of which takes at least one byte.
    private func length(_ count: UInt64) throws(CBOR.Fault) -> Int {
        guard count <= UInt64(rest.count) else { throw .truncated }
        return Int(count)
    }

    private mutating func take(_ count: Int) throws(CBOR.Fault) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw .truncated }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
