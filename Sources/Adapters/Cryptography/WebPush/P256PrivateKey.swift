import COpenSSL
package import Sessions

/// A private key on P-256, to sign (`ES256`) or to agree on a secret (ECDH).
///
/// Use one key for one of the two.
package struct P256PrivateKey: Sendable {
    /// The public point: 4, then both coordinates. Source: SEC 1 §2.3.3.
    package let publicPoint: [UInt8]
    private let key: CertificateKey

    /// A new key.
    package init() throws(CryptographyError) { try self.init(CertificateKey()) }

    /// A key that `pem` wrote. Throws `malformed` for a key of another kind.
    package init(pem: SecretBytes) throws(CryptographyError) {
        try self.init(CertificateKey(pem: pem))
    }

    /// The corresponding C function is `EVP_PKEY_get_octet_string_param`.
    private init(_ key: CertificateKey) throws(CryptographyError) {
        self.key = key
        var point = [UInt8](repeating: 0, count: 1 + 2 * P256PublicKey.count)
        var count = 0
        let result = try unsafe key.withKey { raw throws(CryptographyError) in
            unsafe EVP_PKEY_get_octet_string_param(raw, "pub", &point, point.count, &count)
        }
        guard result == 1, count == point.count else {
            ERR_clear_error()
            throw .malformed
        }
        publicPoint = point
        // A point of another curve with coordinates of this length is refused here.
        _ = try P256PublicKey(point: point)
    }

    /// The key as PKCS #8 in PEM, not encrypted.
    package func pem() throws(CryptographyError) -> SecretBytes { try key.pem() }

    /// R and S in 64 bytes. Source: RFC 7518 §3.4. The corresponding C function is
    /// `EVP_DigestSign`.
    package func sign(_ message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let context = try unsafe OpenSSL.pointer("EVP_MD_CTX_new", EVP_MD_CTX_new())
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest = try unsafe Algorithm.sha256
        var signature = [UInt8](repeating: 0, count: 80)
        var count = signature.count
        try unsafe key.withKey { raw throws(CryptographyError) in
            try unsafe OpenSSL.one(
                "EVP_DigestSignInit", EVP_DigestSignInit(context, nil, digest, nil, raw))
            try unsafe OpenSSL.one(
                "EVP_DigestSign",
                EVP_DigestSign(context, &signature, &count, message, message.count))
        }
        return try Self.halves(of: signature.prefix(count))
    }

    /// The 32 bytes that only the owners of the two keys can compute. Do not use them as a key;
    /// derive one from them.
    ///
    /// Source: SP 800-56A §5.7.1.2. The corresponding C function is `EVP_PKEY_derive`.
    func sharedSecret(with peer: P256PublicKey) throws(CryptographyError) -> SecretBytes {
        let context = try unsafe key.withKey { raw throws(CryptographyError) in
            try unsafe OpenSSL.pointer("EVP_PKEY_CTX_new", EVP_PKEY_CTX_new(raw, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.positive("EVP_PKEY_derive_init", EVP_PKEY_derive_init(context))
        try unsafe peer.handle.withKey { raw throws(CryptographyError) in
            try unsafe OpenSSL.positive(
                "EVP_PKEY_derive_set_peer_ex", EVP_PKEY_derive_set_peer_ex(context, raw, 1))
        }
        return try unsafe SecretBytes.filled(count: P256PublicKey.count) {
            output throws(CryptographyError) in
            var count = output.count
            let bytes = unsafe output.assumingMemoryBound(to: UInt8.self).baseAddress
            try unsafe OpenSSL.positive(
                "EVP_PKEY_derive", EVP_PKEY_derive(context, bytes, &count))
        }
    }

    /// OpenSSL writes a SEQUENCE of two INTEGERs of at most 33 bytes each.
    private static func halves(of der: ArraySlice<UInt8>) throws(CryptographyError) -> [UInt8] {
        var rest = der.dropFirst(2)
        var signature: [UInt8] = []
        for _ in 0..<2 {
            guard rest.count >= 2, rest.removeFirst() == 0x02 else { throw .malformed }
            let length = Int(rest.removeFirst())
            let digits = rest.prefix(length).drop { $0 == 0 }
            guard rest.count >= length, digits.count <= P256PublicKey.count else {
                throw .malformed
            }
            let zeros = P256PublicKey.count - digits.count
            signature += [UInt8](repeating: 0, count: zeros) + digits
            rest = rest.dropFirst(length)
        }
        return signature
    }
}
