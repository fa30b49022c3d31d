import Sessions

/// DHKEM(X25519, HKDF-SHA256), plain and authenticated. Source: RFC 9180 §4.1 and §7.1.
enum DHKEM {
    /// Source: RFC 9180 §7.1, table 2.
    static let identifier: UInt16 = 0x0020
    private static let hkdf = LabeledHKDF(suite: Array("KEM".utf8) + bigEndian(identifier))

    /// Encap(pkR), or AuthEncap(pkR, skS) with a sender. The ephemeral key serves once.
    ///
    /// Source: RFC 9180 §4.1.
    static func encapsulate(
        to recipient: X25519PublicKey, from sender: X25519PrivateKey?, ephemeral: X25519PrivateKey
    ) throws(CryptographyError) -> (secret: SecretBytes, enc: [UInt8]) {
        let enc = ephemeral.publicKey.rawRepresentation
        var shared = [try ephemeral.sharedSecret(with: recipient)]
        if let sender { shared.append(try sender.sharedSecret(with: recipient)) }
        let secret = try extractAndExpand(
            shared, enc: enc, recipient: recipient, sender: sender?.publicKey)
        return (secret, enc)
    }

    /// Decap(enc, skR), or AuthDecap(enc, skR, pkS) with a sender.
    ///
    /// Throws `malformed` for an `enc` that is no usable public key. Source: RFC 9180 §4.1.
    static func decapsulate(
        _ enc: [UInt8], with recipient: X25519PrivateKey, from sender: X25519PublicKey?
    ) throws(CryptographyError) -> SecretBytes {
        let ephemeral = try X25519PublicKey(rawRepresentation: enc)
        var shared = [try recipient.sharedSecret(with: ephemeral)]
        if let sender { shared.append(try recipient.sharedSecret(with: sender)) }
        return try extractAndExpand(
            shared, enc: enc, recipient: recipient.publicKey, sender: sender)
    }

    /// ExtractAndExpand(dh, kem_context). Source: RFC 9180 §4.1.
    private static func extractAndExpand(
        _ shared: [SecretBytes], enc: [UInt8], recipient: X25519PublicKey, sender: X25519PublicKey?
    ) throws(CryptographyError) -> SecretBytes {
        let context = enc + recipient.rawRepresentation + (sender?.rawRepresentation ?? [])
        let key = try hkdf.extract(salt: SecretBytes([]), label: "eae_prk", from: shared)
        return try hkdf.expand(from: key, label: "shared_secret", info: context, count: 32)
    }
}
