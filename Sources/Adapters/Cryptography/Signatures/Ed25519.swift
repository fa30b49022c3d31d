import COpenSSL
package import Sessions

/// A private key for Ed25519 signatures. Source: RFC 8032 §5.1.
package struct Ed25519PrivateKey: Sendable {
    /// The 32-byte seed to store, encrypted.
    package let rawRepresentation: SecretBytes
    package let publicKey: Ed25519PublicKey
    private let handle: KeyHandle

    /// A new key from 32 secret random bytes.
    package init() throws(CryptographyError) {
        try self.init(rawRepresentation: RandomBytes.secret(KeyKind.count))
    }

    /// A key that was stored. Throws `malformed` unless it has 32 bytes.
    package init(rawRepresentation: SecretBytes) throws(CryptographyError) {
        handle = try KeyHandle(.ed25519, privateKey: rawRepresentation)
        publicKey = try Ed25519PublicKey(rawRepresentation: handle.publicKey())
        self.rawRepresentation = rawRepresentation
    }

    /// The 64-byte signature of `message`. The same message always gets the same signature.
    ///
    /// Source: RFC 8032 §5.1.6. The corresponding C function is `EVP_DigestSign`.
    package func sign(_ message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try SignatureContext().sign(message, with: handle)
    }
}

/// A public key: 32 bytes that are not a point of small order.
package struct Ed25519PublicKey: Hashable, Sendable {
    /// Length of a signature in bytes.
    package static let signatureCount = 64

    package let rawRepresentation: [UInt8]
    /// The key id (`kid`): b64 of the first 8 bytes of the key's SHA-256.
    package let keyID: KeyID

    /// Throws `malformed` unless it has 32 bytes that are not a point of small order.
    ///
    /// Bytes that are not a point of the curve are accepted here, and `verify` then returns false.
    package init(rawRepresentation: [UInt8]) throws(CryptographyError) {
        guard rawRepresentation.count == KeyKind.count,
            !SmallOrder.holdsEd25519(rawRepresentation)
        else { throw .malformed }
        self.rawRepresentation = rawRepresentation
        keyID = KeyID(digest: try SHA256.digest(rawRepresentation))
    }

    /// Whether the owner of this key signed `message` with `signature`. False for any other length,
    /// and if OpenSSL fails.
    ///
    /// Uses the equation without cofactor. R must have exactly the encoding that the verifier
    /// computes, and S must be below the group's order. So nobody can change a signature into
    /// another valid one. Source: RFC 8032 §5.1.7 and §8.4. The corresponding C function is
    /// `EVP_DigestVerify`.
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == Self.signatureCount else { return false }
        do {
            let key = try KeyHandle(.ed25519, publicKey: rawRepresentation)
            return try SignatureContext().verify(signature, of: message, with: key)
        } catch {
            return false
        }
    }
}

/// Makes or verifies one signature; freed with its owner.
///
/// The corresponding C type is `EVP_MD_CTX`.
@safe
private struct SignatureContext: ~Copyable {
    private let raw: OpaquePointer

    init() throws(CryptographyError) {
        unsafe raw = try OpenSSL.pointer("EVP_MD_CTX_new", EVP_MD_CTX_new())
    }

    deinit { unsafe EVP_MD_CTX_free(raw) }

    func sign(_ message: [UInt8], with key: KeyHandle) throws(CryptographyError) -> [UInt8] {
        let started = try unsafe key.withKey { unsafe EVP_DigestSignInit(raw, nil, nil, nil, $0) }
        try OpenSSL.one("EVP_DigestSignInit", started)
        var signature = [UInt8](repeating: 0, count: Ed25519PublicKey.signatureCount)
        var count = signature.count
        let result = unsafe EVP_DigestSign(raw, &signature, &count, message, message.count)
        try OpenSSL.one("EVP_DigestSign", result)
        return signature
    }

    func verify(
        _ signature: [UInt8], of message: [UInt8], with key: KeyHandle
    ) throws(CryptographyError) -> Bool {
        let started = try unsafe key.withKey {
            unsafe EVP_DigestVerifyInit(raw, nil, nil, nil, $0)
        }
        try OpenSSL.one("EVP_DigestVerifyInit", started)
        let result = unsafe EVP_DigestVerify(
            raw, signature, signature.count, message, message.count)
        return try OpenSSL.verdict("EVP_DigestVerify", result)
    }
}
