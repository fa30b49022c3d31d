package import Sessions
package import WebAuthn
package import Wire

/// The cryptography and the randomness that the core needs. The core has none of its own.
package protocol AuthorityCryptography: Sendable {
    func random(_ count: Int) throws(AuthorityError) -> [UInt8]
    func sha256(_ message: [UInt8]) throws(AuthorityError) -> [UInt8]
    func hmac(_ message: [UInt8], key: SecretBytes) throws(AuthorityError) -> [UInt8]

    /// The keys that both sides derive from a claim secret.
    /// Source: the wire contract, Identities and claims.
    func claimKeys(
        secret: SecretBytes, board: InstallationID
    ) throws(AuthorityError) -> ClaimKeys

    /// Seals for a board with the keys of a claim secret only.
    func sealProvision(
        _ plaintext: [UInt8], to board: RecipientKey, claim: ClaimKeys, topic: String
    ) throws(AuthorityError) -> [UInt8]
    /// Seals for a board with the seal key that the board has pinned.
    func seal(
        _ plaintext: [UInt8], to board: RecipientKey, from key: SealKey, topic: String
    ) throws(AuthorityError) -> [UInt8]
    /// Opens a message that a board sealed. Nil if another key sealed it or the topic differs.
    func open(
        _ envelope: SealedEnvelope, from deviceKey: [UInt8], with key: SealKey, topic: String
    ) -> [UInt8]?
    /// Opens a join request. Nil if another secret sealed it or the topic differs.
    func openJoin(
        _ envelope: SealedEnvelope, claim: ClaimKeys, id: InstallationID, with key: SealKey,
        topic: String
    ) -> [UInt8]?
    /// The fingerprint of the first certificate in a PEM text. Nil if there is none.
    func fingerprint(ofCertificate pem: String) -> CertificateFingerprint?

    func sign(
        _ claims: AccessTokenClaims, with key: TokenSigningKey
    ) throws(AuthorityError) -> AccessToken

    /// The claims of a token as unchecked bytes. One of `keys` must have signed it: the one that
    /// its header names. Source: RFC 9068 §4.
    func claims(
        of token: AccessToken, signedBy keys: [SigningKey]
    ) throws(AccessTokenFault) -> [UInt8]

    /// Whether a passkey's public key can verify signatures.
    func isUsable(_ key: PasskeyKey) -> Bool
    /// Whether the owner of the key signed `message`. Signatures have the form that WebAuthn gives
    /// them.
    func verify(_ signature: [UInt8], of message: [UInt8], by key: PasskeyKey) -> Bool

    /// Hashes a password. Slow on purpose; does not run on the threads that answer boards.
    func hashPassword(_ password: SecretBytes) async throws(AuthorityError) -> String
    /// Whether a hash was made with another cost than the present one.
    func isOutdated(passwordHash: String) -> Bool
    /// Checks a password. With `hash` nil it takes the same time and returns false.
    func verifyPassword(
        _ password: SecretBytes, against hash: String?
    ) async throws(AuthorityError) -> Bool
}

/// A board as the recipient of sealed messages.
package struct RecipientKey: Sendable {
    package let board: InstallationID
    /// Raw X25519, 32 bytes.
    package let key: [UInt8]

    package init(board: InstallationID, key: [UInt8]) {
        self.board = board
        self.key = key
    }
}

/// The keys that come from one claim secret.
package struct ClaimKeys: Sendable {
    /// The board's first broker password, as text.
    package let brokerPassword: SecretBytes
    /// The HPKE psk of the provisioning.
    package let psk: SecretBytes

    package init(brokerPassword: SecretBytes, psk: SecretBytes) {
        self.brokerPassword = brokerPassword
        self.psk = psk
    }
}

/// The authority's static X25519 key pair, which boards pin.
package struct SealKey: Sendable {
    package let id: KeyID
    package let publicKey: [UInt8]
    package let privateKey: SecretBytes

    package init(id: KeyID, publicKey: [UInt8], privateKey: SecretBytes) {
        self.id = id
        self.publicKey = publicKey
        self.privateKey = privateKey
    }
}

/// An Ed25519 key pair that signs access tokens.
package struct TokenSigningKey: Sendable {
    package let publicKey: SigningKey
    package let privateKey: SecretBytes

    package init(publicKey: SigningKey, privateKey: SecretBytes) {
        self.publicKey = publicKey
        self.privateKey = privateKey
    }
}

/// The keys of one authority, shared by its replicas through the store.
package struct AuthorityKeys: Sendable {
    package let seal: SealKey
    /// The signing keys, which may change while the authority runs.
    package let signingKeys: any SigningKeySource
    /// The HMAC key for session tokens and claim secrets.
    package let tokenHash: SecretBytes
    /// The HMAC key for refresh tokens.
    package let refresh: SecretBytes

    package init(
        seal: SealKey, signingKeys: any SigningKeySource, tokenHash: SecretBytes,
        refresh: SecretBytes
    ) {
        self.seal = seal
        self.signingKeys = signingKeys
        self.tokenHash = tokenHash
        self.refresh = refresh
    }

    /// The key that signs; the first of `published`.
    package var signing: TokenSigningKey { signingKeys.current.signing }
    /// All keys that boards should pin: the one that signs, and those whose tokens may still be
    /// valid.
    package var published: [SigningKey] { signingKeys.current.published }
}
