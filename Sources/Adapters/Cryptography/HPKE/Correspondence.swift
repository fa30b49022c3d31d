import Sessions

extension HPKE {
    /// Two static keys that write to each other, one of them ours, with what they agree on
    /// computed once: half the agreements of `sealAuth` and `openAuth`, the same messages.
    ///
    /// What it keeps is worth as much as either private key between these two, and nothing
    /// towards anyone else. Source: RFC 9180 §4.1 and §5.1.3.
    package struct Correspondence: Sendable {
        private let own: X25519PrivateKey
        package let peer: X25519PublicKey
        private let agreement: SecretBytes

        package init(own: X25519PrivateKey, peer: X25519PublicKey) throws(CryptographyError) {
            self.own = own
            self.peer = peer
            agreement = try own.sharedSecret(with: peer)
        }

        /// Seals for the peer, who learns that it came from our key. As `HPKE.sealAuth`.
        package func seal(
            _ plaintext: [UInt8], info: [UInt8], aad: [UInt8]
        ) throws(CryptographyError) -> Sealed {
            let sender = DHKEM.Sender(publicKey: own.publicKey, agreement: agreement)
            return try HPKE.seal(plaintext, to: peer, from: sender, info: info, aad: aad)
        }

        /// Opens what the peer sealed for us. Throws as `HPKE.openAuth` does.
        package func open(
            _ sealed: Sealed, info: [UInt8], aad: [UInt8]
        ) throws(CryptographyError) -> [UInt8] {
            let sender = DHKEM.Sender(publicKey: peer, agreement: agreement)
            return try HPKE.open(sealed, with: own, from: sender, info: info, aad: aad)
        }
    }
}
