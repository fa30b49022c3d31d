package import Sessions

/// The keys of a browser for the messages that it gets. Source: RFC 8291 §3.1 and §3.2.
package struct PushKeys: Sendable {
    /// The browser's public point, 65 bytes.
    package let point: [UInt8]
    /// What only the browser and we know, 16 bytes.
    package let secret: SecretBytes
    let key: P256PublicKey

    /// Length of `secret` in bytes.
    package static let secretCount = 16

    /// Throws `malformed` unless the point is on P-256 and the secret has 16 bytes.
    package init(point: [UInt8], secret: SecretBytes) throws(CryptographyError) {
        guard secret.count == Self.secretCount else { throw .malformed }
        key = try P256PublicKey(point: point)
        self.point = point
        self.secret = secret
    }
}

/// A message that only the browser can read, in the content coding `aes128gcm`.
///
/// Source: RFC 8291 §3 and §4; RFC 8188 §2.
package enum PushEncryption {
    /// The most bytes of a message: with its header and its tag it fits into the 4096 bytes that
    /// every push service takes.
    package static let limit = 3993

    private static let saltCount = 16
    private static let recordSize: [UInt8] = [0, 0, 0x10, 0]

    /// Throws `malformed` for a message over `limit`.
    package static func seal(
        _ message: [UInt8], to browser: PushKeys
    ) throws(CryptographyError) -> [UInt8] {
        try seal(
            message, to: browser, from: P256PrivateKey(), salt: RandomBytes.make(saltCount))
    }

    /// The key and the salt serve once.
    static func seal(
        _ message: [UInt8], to browser: PushKeys, from own: P256PrivateKey, salt: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        guard message.count <= limit else { throw .malformed }
        let agreed = try own.sharedSecret(with: browser.key)
        let both = try HKDFSHA256.expand(
            from: HKDFSHA256.extract(from: [agreed], salt: browser.secret),
            info: Array("WebPush: info\0".utf8) + browser.point + own.publicPoint, count: 32)
        let key = try HKDFSHA256.derive(
            from: both, salt: salt, info: Array("Content-Encoding: aes128gcm\0".utf8),
            count: AES128GCM.keyCount)
        let nonce = try HKDFSHA256.derive(
            from: both, salt: salt, info: Array("Content-Encoding: nonce\0".utf8),
            count: AES256GCM.nonceCount)
        // The only record is the last one: 2 ends it.
        return salt + recordSize + [UInt8(own.publicPoint.count)] + own.publicPoint
            + (try AES128GCM.seal(message + [2], key: key, nonce: nonce.reveal()))
    }
}
