/// A public key for ECDSA on P-256 with SHA-256, `ES256`.
///
/// Source: RFC 7518 §3.4; FIPS 186-5 §6.
package struct P256PublicKey: Sendable {
    /// Length of a coordinate, and of half a signature, in bytes.
    package static let count = 32

    let handle: PublicKeyHandle

    /// Throws `malformed` unless each coordinate has 32 bytes and they are a point of the curve.
    ///
    /// Source: RFC 7518 §6.2.1.2; RFC 8725 §3.4 (validate all cryptographic inputs).
    package init(x: [UInt8], y: [UInt8]) throws(CryptographyError) {
        guard x.count == Self.count, y.count == Self.count else { throw .malformed }
        do throws(CryptographyError) {
            handle = try PublicKeyHandle(subjectPublicKeyInfo: DER.sequence(
                DER.sequence(DER.objectID(Self.identifier), DER.objectID(Self.curve)),
                DER.bitString([4] + x + y)))
            try handle.check()
        } catch {
            throw .malformed
        }
    }

    /// A point as it is sent: 4, then both coordinates. Throws `malformed` for anything else.
    ///
    /// Source: SEC 1 §2.3.4.
    package init(point: [UInt8]) throws(CryptographyError) {
        guard point.count == 1 + 2 * Self.count, point[0] == 4 else { throw .malformed }
        try self.init(
            x: Array(point[1...Self.count]), y: Array(point[(1 + Self.count)...]))
    }

    /// Whether the owner of this key signed `message` with `signature`: R and S in 64 bytes. False
    /// for any other length, and if OpenSSL fails.
    ///
    /// Anyone with a signature can make another valid signature of the same message. So do not use
    /// a signature to identify a message. Source: RFC 7518 §3.4.
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 2 * Self.count else { return false }
        let der = DER.sequence(
            DER.integer(signature.prefix(Self.count)), DER.integer(signature.suffix(Self.count)))
        return verify(der: der, of: message)
    }

    /// The same for a signature in DER: a SEQUENCE of R and S. OpenSSL refuses any other encoding
    /// of the two numbers. Source: WebAuthn Level 2 §6.5.6; RFC 3279 §2.2.3.
    package func verify(der signature: [UInt8], of message: [UInt8]) -> Bool {
        do throws(CryptographyError) {
            return try handle.verify(signature, of: message, padding: .standard)
        } catch {
            return false
        }
    }

    /// 1.2.840.10045.2.1, id-ecPublicKey, and 1.2.840.10045.3.1.7, secp256r1.
    /// Source: RFC 5480 §2.1.1.
    private static let identifier: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let curve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
}
