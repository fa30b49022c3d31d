/// A passkey's public key. The key decides the algorithm of its signatures.
///
/// Whether the values are a good key is for the cryptography to say.
/// Source: WebAuthn Level 2 §5.8.5 and §6.5.1.1; RFC 9053 §2 and §7; RFC 8812 §2.
package enum PasskeyKey: Equatable, Sendable {
    /// ES256: the coordinates of a point on P-256, each 32 bytes.
    case p256(x: [UInt8], y: [UInt8])
    /// EdDSA with Ed25519: 32 bytes.
    case ed25519([UInt8])
    /// RS256.
    case rsa(modulus: [UInt8], exponent: [UInt8])

    /// The algorithms that a new passkey may have, the preferred one first.
    package static let algorithms: [Int64] = [-7, -8, -257]

    /// Reads a COSE_Key. It must have exactly the parameters of its type, so `alg` is one of ours
    /// and fits the type. A negative number n is kept as -1 - n: -7 as 6.
    package init(_ key: CBOR) throws(PasskeyFault) {
        switch (key[.integer(1)], key[.integer(3)]) {
        case (.unsigned(2), .negative(6)):
            guard key.mapCount == 5, key[.integer(-1)] == .integer(1),
                let x = key[.integer(-2)]?.asBytes, x.count == 32,
                let y = key[.integer(-3)]?.asBytes, y.count == 32
            else { throw .malformed }
            self = .p256(x: x, y: y)
        case (.unsigned(1), .negative(7)):
            guard key.mapCount == 4, key[.integer(-1)] == .integer(6),
                let x = key[.integer(-2)]?.asBytes, x.count == 32
            else { throw .malformed }
            self = .ed25519(x)
        case (.unsigned(3), .negative(256)):
            guard key.mapCount == 4, let modulus = key[.integer(-1)]?.asBytes,
                let exponent = key[.integer(-2)]?.asBytes
            else { throw .malformed }
            self = .rsa(modulus: modulus, exponent: exponent)
        default: throw .algorithm
        }
    }

    /// Reads the stored bytes of a COSE_Key.
    package init(cose bytes: [UInt8]) throws(PasskeyFault) {
        let value: CBOR
        do throws(CBOR.Fault) { value = try CBOR(reading: bytes) } catch { throw .malformed }
        try self.init(value)
    }
}
