import Sessions

/// DHKEM(X25519, HKDF-SHA256), plain and authenticated. Source: RFC 9180 §4.1 and §7.1.
enum DHKEM {
    /// Source: RFC 9180 §7.1, table 2.
    static let identifier: UInt16 = 0x0020
    private static let hkdf = LabeledHKDF(suite: Array("KEM".utf8) + bigEndian(identifier))

    /// The sender of a message: its static public key, and its shared secret with the recipient's
    /// static key.
    ///
    /// The shared secret is DH(skS, pkR) = DH(skR, pkS), the same in both directions.
    struct Sender {
        let publicKey: X25519PublicKey
        let agreement: SecretBytes
    }

    /// Encap(pkR), or AuthEncap(pkR, skS) with a sender. The ephemeral key is used once.
    ///
    /// Source: RFC 9180 §4.1.
    static func encapsulate(
        to recipient: X25519PublicKey, from sender: Sender?, ephemeral: X25519PrivateKey
    ) throws(CryptographyError) -> (secret: SecretBytes, enc: [UInt8]) {
        let enc = ephemeral.publicKey.rawRepresentation
        let secret = try extractAndExpand(
            ephemeral.sharedSecret(with: recipient), enc: enc, recipient: recipient,
            sender: sender)
        return (secret, enc)
    }

    /// Decap(enc, skR), or AuthDecap(enc, skR, pkS) with a sender.
    ///
    /// Throws `malformed` if `enc` is not a usable public key. Source: RFC 9180 §4.1.
    static func decapsulate(
        _ enc: [UInt8], with recipient: X25519PrivateKey, from sender: Sender?
    ) throws(CryptographyError) -> SecretBytes {
        let ephemeral = try X25519PublicKey(rawRepresentation: enc)
        return try extractAndExpand(
            recipient.sharedSecret(with: ephemeral), enc: enc, recipient: recipient.publicKey,
            sender: sender)
    }

    /// ExtractAndExpand(dh, kem_context); with a sender, dh has two parts and the context three.
    ///
    /// Source: RFC 9180 §4.1.
    private static func extractAndExpand(
        _ shared: SecretBytes, enc: [UInt8], recipient: X25519PublicKey, sender: Sender?
    ) throws(CryptographyError) -> SecretBytes {
        let parts = if let sender { [shared, sender.agreement] } else { [shared] }
        let context =
            enc + recipient.rawRepresentation + (sender?.publicKey.rawRepresentation ?? [])
        let key = try hkdf.extract(salt: SecretBytes([]), label: "eae_prk", from: parts)
        return try hkdf.expand(from: key, label: "shared_secret", info: context, count: 32)
    }
}
