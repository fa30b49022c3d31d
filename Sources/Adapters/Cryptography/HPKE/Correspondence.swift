import Sessions

extension HPKE {
    /// Two static keys that write to each other, one of them our own, with their shared secret
    /// computed once. The messages are those of `sealAuth` and `openAuth`, with half the key
    /// agreements.
    ///
    /// Between these two keys the stored secret is as valuable as either private key. For all other
    /// keys it has no value. Source: RFC 9180 §4.1 and §5.1.3.
    package struct Correspondence: Sendable {
        private let own: X25519PrivateKey
        package let peer: X25519PublicKey
        private let agreement: SecretBytes

        package init(own: X25519PrivateKey, peer: X25519PublicKey) throws(CryptographyError) {
            self.own = own
            self.peer = peer
            agreement = try own.sharedSecret(with: peer)
        }

        /// Seals for the peer. The peer learns that our key sealed it, as with `HPKE.sealAuth`.
        package func seal(
            _ plaintext: [UInt8], info: [UInt8], aad: [UInt8]
        ) throws(CryptographyError) -> Sealed {
            let sender = DHKEM.Sender(publicKey: own.publicKey, agreement: agreement)
            return try HPKE.seal(plaintext, to: peer, from: sender, info: info, aad: aad)
        }

        /// Opens a message that the peer sealed for us. Throws the errors of `HPKE.openAuth`.
        package func open(
            _ sealed: Sealed, info: [UInt8], aad: [UInt8]
        ) throws(CryptographyError) -> [UInt8] {
            let sender = DHKEM.Sender(publicKey: peer, agreement: agreement)
            return try HPKE.open(sealed, with: own, from: sender, info: info, aad: aad)
        }
    }
}
