/// The types of columns and parameters that this program knows, in the server's binary format.
///
/// Numbers are big-endian. Source: PostgreSQL, `src/include/catalog/pg_type.dat` for the
/// numbers; the `…send` and `…recv` functions of each type for the form.
enum ServerType: UInt32 {
    case bool = 16
    case bytes = 17
    case name = 19
    case int8 = 20
    case int2 = 21
    case int4 = 23
    case text = 25
    case oid = 26
    case bpchar = 1042
    case varchar = 1043
    case void = 2278

    /// Appends the binary form of `value`, which is not null, to `bytes`.
    ///
    /// Throws `PostgresError.misfit` if the value has another type, is out of range, or is text
    /// with a NUL, which PostgreSQL cannot store.
    func encode(_ value: SQLValue, into bytes: inout [UInt8]) throws(PostgresError) {
        switch (self, value) {
        case (.int8, .integer(let number)): bytes.append(bigEndian: number)
        case (.int4, .integer(let number)):
            bytes.append(bigEndian: try narrow(number) as Int32)
        case (.int2, .integer(let number)):
            bytes.append(bigEndian: try narrow(number) as Int16)
        case (.oid, .integer(let number)):
            bytes.append(bigEndian: try narrow(number) as UInt32)
        case (.text, .text(let text)), (.varchar, .text(let text)), (.bpchar, .text(let text)),
            (.name, .text(let text)):
            guard !text.utf8.contains(0) else { throw .misfit("text contains a NUL") }
            bytes.append(contentsOf: text.utf8)
        case (.bytes, .blob(let blob)): bytes.append(contentsOf: blob)
        case (.bool, .bool(let isTrue)): bytes.append(isTrue ? 1 : 0)
        default: throw .misfit("\(value.kind) for a parameter of type \(self)")
        }
    }

    /// Decodes a column value that is not null.
    func decode(_ bytes: UnsafeBufferPointer<UInt8>) throws(PostgresError) -> SQLValue {
        switch self {
        case .int8: return .integer(try unsafe number(bytes) as Int64)
        case .int4: return .integer(Int64(try unsafe number(bytes) as Int32))
        case .int2: return .integer(Int64(try unsafe number(bytes) as Int16))
        case .oid: return .integer(Int64(try unsafe number(bytes) as UInt32))
        case .text, .varchar, .bpchar, .name:
            guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
                throw .misfit("text is not valid UTF-8")
            }
            return .text(text)
        case .bytes: return .blob(unsafe Array(bytes))
        case .bool:
            guard bytes.count == 1 else { throw .misfit("a bool has a wrong length") }
            return .bool(unsafe bytes[0] != 0)
        case .void: return .null
        }
    }

    private func narrow<N: FixedWidthInteger>(_ number: Int64) throws(PostgresError) -> N {
        guard let narrow = N(exactly: number) else {
            throw .misfit("a number too large for a parameter of type \(self)")
        }
        return narrow
    }

    private func number<N: FixedWidthInteger>(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(PostgresError) -> N {
        guard bytes.count == N.bitWidth / 8 else {
            throw .misfit("\(self) has a wrong length")
        }
        return unsafe bytes.reduce(0) { $0 << 8 | N(truncatingIfNeeded: $1) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
        var shift = number.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

extension SQLValue {
    /// The name of the type, for an error. Never the value.
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .integer: "an integer"
        case .text: "text"
        case .blob: "bytes"
        case .bool: "a bool"
        }
    }
}
