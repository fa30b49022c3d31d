import WebAuthn

/// Holds the reader of CBOR against a writer, and reads the input as each part of a passkey's
/// answer.
package enum WebAuthnOracle {
    /// What is wrong with how an input was read; nil where nothing is.
    package static func complaint(about input: [UInt8]) -> String? {
        _ = try? AuthenticatorData(parsing: input)
        _ = try? PasskeyKey(cose: input)
        _ = try? ClientData(parsing: input)
        let cost = ProcessorCost.complaint(about: input.count) {
            _ = try? CBOR(reading: input)
        }
        if let cost { return cost }
        guard let value = try? CBOR(reading: input) else { return nil }
        // There is one form of each value, so what was read is what is written again.
        let written = Self.written(value)
        guard written == input else { return "\(value) is written as \(written)" }
        if depth(of: value) > CBOR.depth { return "deeper than \(CBOR.depth)" }
        return nil
    }

    private static func depth(of value: CBOR) -> Int {
        switch value {
        case .array(let values): 1 + (values.map(depth).max() ?? 0)
        case .map(let entries): 1 + (entries.map { depth(of: $0.value) }.max() ?? 0)
        default: 0
        }
    }

    private static func written(_ value: CBOR) -> [UInt8] {
        switch value {
        case .unsigned(let number): head(0, number)
        case .negative(let number): head(1, number)
        case .bytes(let bytes): head(2, UInt64(bytes.count)) + bytes
        case .text(let text): head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let values): head(4, UInt64(values.count)) + values.flatMap(written)
        case .map(let entries):
            head(5, UInt64(entries.count)) + entries.flatMap { written($0.key) + written($0.value) }
        case .bool(let isTrue): [isTrue ? 0xF5 : 0xF4]
        case .null: [0xF6]
        }
    }

    private static func head(_ major: UInt8, _ number: UInt64) -> [UInt8] {
        let kind = major << 5
        func digits(_ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        switch number {
        case ..<24: return [kind | UInt8(number)]
        case ..<0x100: return [kind | 24] + digits(1)
        case ..<0x1_0000: return [kind | 25] + digits(2)
        case ..<0x1_0000_0000: return [kind | 26] + digits(4)
        default: return [kind | 27] + digits(8)
        }
    }
}
