import COpenSSL
package import Sessions

/// A private key for key agreement on Curve25519: a device key or an authority's seal key.
///
/// Source: RFC 7748 §5 and §6.1.
package struct X25519PrivateKey: Sendable {
    /// The 32 bytes to store, encrypted.
    package let rawRepresentation: SecretBytes
    package let publicKey: X25519PublicKey
    private let handle: KeyHandle

    /// A new key from 32 secret random bytes.
    package init() throws(CryptographyError) {
        try self.init(rawRepresentation: RandomBytes.secret(KeyKind.count))
    }

    /// A key that was stored. Throws `malformed` unless it has 32 bytes.
    package init(rawRepresentation: SecretBytes) throws(CryptographyError) {
        handle = try KeyHandle(.x25519, privateKey: rawRepresentation)
        publicKey = try X25519PublicKey(rawRepresentation: handle.publicKey())
        self.rawRepresentation = rawRepresentation
    }

    /// The 32 bytes that only the owners of the two keys can compute. Do not use them as a key;
    /// derive one from them.
    ///
    /// Throws `malformed` if the result is all zero, which happens with a peer's key of small
    /// order.
    /// Source: RFC 7748 §6.1. The corresponding C function is `EVP_PKEY_derive`.
    package func sharedSecret(
        with peer: X25519PublicKey
    ) throws(CryptographyError) -> SecretBytes {
        let peer = try KeyHandle(.x25519, publicKey: peer.rawRepresentation)
        let context = try AgreementContext(handle)
        let secret = try unsafe SecretBytes.filled(count: KeyKind.count) {
            output throws(CryptographyError) in
            try unsafe context.derive(with: peer, into: output)
        }
        guard !secret.matches(SecretBytes([UInt8](repeating: 0, count: KeyKind.count))) else {
            throw .malformed
        }
        return secret
    }
}

/// A public key: 32 bytes that are not a point of small order.
package struct X25519PublicKey: Hashable, Sendable {
    package let rawRepresentation: [UInt8]
    /// The key id on the wire: b64 of the first 8 bytes of the key's SHA-256.
    package let keyID: KeyID

    /// Throws `malformed` unless it has 32 bytes that are not a point of small order.
    package init(rawRepresentation: [UInt8]) throws(CryptographyError) {
        guard rawRepresentation.count == KeyKind.count,
            !SmallOrder.holdsX25519(rawRepresentation)
        else { throw .malformed }
        self.rawRepresentation = rawRepresentation
        keyID = KeyID(digest: try SHA256.digest(rawRepresentation))
    }
}

/// One key agreement with one private key, freed with its owner.
///
/// The corresponding C type is `EVP_PKEY_CTX`.
@safe
private struct AgreementContext: ~Copyable {
    private let raw: OpaquePointer

    init(_ key: KeyHandle) throws(CryptographyError) {
        unsafe raw = try key.withKey { key throws(CryptographyError) in
            let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
            return try unsafe OpenSSL.pointer("EVP_PKEY_CTX_new_from_pkey", context)
        }
    }

    deinit { unsafe EVP_PKEY_CTX_free(raw) }

    func derive(
        with peer: KeyHandle, into output: UnsafeMutableRawBufferPointer
    ) throws(CryptographyError) {
        try unsafe OpenSSL.positive("EVP_PKEY_derive_init", EVP_PKEY_derive_init(raw))
        let accepted = try unsafe peer.withKey { peer in
            unsafe EVP_PKEY_derive_set_peer_ex(raw, peer, 0)
        }
        try OpenSSL.positive("EVP_PKEY_derive_set_peer_ex", accepted)
        let bytes = unsafe output.assumingMemoryBound(to: UInt8.self).baseAddress
        var count = output.count
        let result = unsafe EVP_PKEY_derive(raw, bytes, &count)
        try OpenSSL.positive("EVP_PKEY_derive", result)
    }
}
