/// A public key for RSA signatures with SHA-256, 2048 to 8192 bits.
///
/// Each key uses one of the two paddings. A signature with the other padding does not verify.
/// Source: RFC 7518 §3.3 and §3.5; RFC 8017 §8.1.2 and §8.2.2.
package struct RSAPublicKey: Sendable {
    package enum Padding: Sendable {
        /// `RS256`: RSASSA-PKCS1-v1_5.
        case pkcs1
        /// `PS256`: RSASSA-PSS, MGF1 with SHA-256, a salt of 32 bytes.
        case pss
    }

    package static let bits = 2048...8192

    private let handle: PublicKeyHandle
    private let padding: Padding
    /// Length of the modulus and of each signature in bytes.
    private let count: Int

    /// Throws `malformed` unless the modulus is odd, has an allowed length and no leading zero
    /// byte. The exponent must be odd, at least 3, of at most 4 bytes, and without leading zeros.
    ///
    /// Source: RFC 7518 §6.3.1 (Base64urlUInt: no leading zeros) and §3.3 (2048 bits).
    package init(
        modulus: [UInt8], exponent: [UInt8], padding: Padding
    ) throws(CryptographyError) {
        guard let first = modulus.first, let last = modulus.last, first != 0,
            !last.isMultiple(of: 2),
            Self.bits.contains(modulus.count * 8 - first.leadingZeroBitCount),
            (1...4).contains(exponent.count), let high = exponent.first, high != 0,
            let low = exponent.last, !low.isMultiple(of: 2), exponent != [1]
        else { throw .malformed }
        self.padding = padding
        count = modulus.count
        handle = try PublicKeyHandle(subjectPublicKeyInfo: DER.sequence(
            DER.sequence(DER.objectID(Self.identifier), DER.null),
            DER.bitString(DER.sequence(DER.integer(modulus), DER.integer(exponent)))))
    }

    /// Whether the owner of this key signed `message` with `signature`. False unless the signature
    /// is as long as the modulus, and if OpenSSL fails.
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == count else { return false }
        do throws(CryptographyError) {
            return try handle.verify(
                signature, of: message, padding: padding == .pss ? .pss : .standard)
        } catch {
            return false
        }
    }

    /// 1.2.840.113549.1.1.1, rsaEncryption. Source: RFC 8017 §A.1.
    private static let identifier: [UInt8] = [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01,
    ]
}
