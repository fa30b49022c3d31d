import COpenSSL
import Sessions

/// The two kinds of curve key. Source: RFC 8410 §3.
enum KeyKind {
    case x25519
    case ed25519

    /// Length of a raw private or public key in bytes.
    static let count = 32

    fileprivate var identifier: Int32 {
        switch self {
        case .x25519: EVP_PKEY_X25519
        case .ed25519: EVP_PKEY_ED25519
        }
    }
}

/// One OpenSSL key, freed with its last owner. OpenSSL wipes a private key.
///
/// The key never changes and OpenSSL only reads it, so threads may share it. The corresponding C
/// type is `EVP_PKEY`.
@safe
final class KeyHandle: @unchecked Sendable {
    private let raw: OpaquePointer

    /// A private key; OpenSSL computes the public key. Throws `malformed` unless it has 32 bytes.
    ///
    /// The corresponding C function is `EVP_PKEY_new_raw_private_key`.
    init(_ kind: KeyKind, privateKey: SecretBytes) throws(CryptographyError) {
        guard privateKey.count == KeyKind.count else { throw .malformed }
        let key = unsafe privateKey.withBytes { key in
            let bytes = unsafe key.assumingMemoryBound(to: UInt8.self).baseAddress
            return unsafe EVP_PKEY_new_raw_private_key(kind.identifier, nil, bytes, key.count)
        }
        unsafe raw = try OpenSSL.pointer("EVP_PKEY_new_raw_private_key", key)
    }

    /// A public key. Throws `malformed` unless it has 32 bytes.
    ///
    /// The corresponding C function is `EVP_PKEY_new_raw_public_key`.
    init(_ kind: KeyKind, publicKey: [UInt8]) throws(CryptographyError) {
        guard publicKey.count == KeyKind.count else { throw .malformed }
        let key = unsafe EVP_PKEY_new_raw_public_key(
            kind.identifier, nil, publicKey, publicKey.count)
        unsafe raw = try OpenSSL.pointer("EVP_PKEY_new_raw_public_key", key)
    }

    deinit { unsafe EVP_PKEY_free(raw) }

    /// The raw public key, 32 bytes.
    ///
    /// The corresponding C function is `EVP_PKEY_get_raw_public_key`.
    func publicKey() throws(CryptographyError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: KeyKind.count)
        var count = bytes.count
        let result = unsafe EVP_PKEY_get_raw_public_key(raw, &bytes, &count)
        try OpenSSL.one("EVP_PKEY_get_raw_public_key", result)
        return bytes
    }

    /// Gives the key to `body` for the duration of the call.
    func withKey<R: ~Copyable>(
        _ body: (OpaquePointer) throws(CryptographyError) -> R
    ) throws(CryptographyError) -> R {
        try unsafe body(raw)
    }
}
