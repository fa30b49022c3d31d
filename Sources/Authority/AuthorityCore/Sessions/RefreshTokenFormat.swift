import Sessions

/// Makes and reads the refresh tokens of one authority. They are opaque to boards.
///
/// `rt:` + b64(family, 16 bytes ‖ generation, 8 bytes big-endian ‖ HMAC-SHA256(server key, family ‖
/// generation)). Source: the wire contract, Refresh and rotation.
struct RefreshTokenFormat {
    let cryptography: any AuthorityCryptography
    let key: SecretBytes

    func token(
        family: RefreshFamilyID, generation: UInt64
    ) throws(AuthorityError) -> RefreshToken {
        let body = family.bytes + Self.bigEndian(generation)
        let text = RefreshToken.prefix
            + Base64URL.encode(body + (try cryptography.hmac(body, key: key)))
        return RefreshToken(unchecked: SecretBytes(Array(text.utf8)))
    }

    /// Nil if this authority did not make the token.
    func read(
        _ token: RefreshToken
    ) throws(AuthorityError) -> (family: RefreshFamilyID, generation: UInt64)? {
        let text = token.reveal().dropFirst(RefreshToken.prefix.count)
        guard let bytes = Base64URL.decode(text), bytes.count == 16 + 8 + 32,
            let family = RefreshFamilyID(Array(bytes[..<16]))
        else { return nil }
        let expected = SecretBytes(
            try cryptography.hmac(Array(bytes[..<24]), key: key))
        guard expected.matches(SecretBytes(bytes[24...])) else { return nil }
        return (family, bytes[16..<24].reduce(0) { $0 << 8 | UInt64($1) })
    }

    private static func bigEndian(_ value: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
