package import Sessions
package import Wire

/// The cryptography that the core asks for; the core has none of its own, and no randomness.
package protocol AuthorityCryptography: Sendable {
    func random(_ count: Int) throws(AuthorityError) -> [UInt8]
    func sha256(_ message: [UInt8]) throws(AuthorityError) -> [UInt8]
    func hmac(_ message: [UInt8], key: SecretBytes) throws(AuthorityError) -> [UInt8]

    /// What both sides derive from a claim secret.
    /// Source: the wire contract, Identities and claims.
    func claimKeys(
        secret: SecretBytes, board: InstallationID
    ) throws(AuthorityError) -> ClaimKeys

    /// Seals for a board under a claim secret alone.
    func sealProvision(
        _ plaintext: [UInt8], to board: RecipientKey, claim: ClaimKeys, topic: String
    ) throws(AuthorityError) -> [UInt8]
    /// Seals for a board as the authority that it has pinned.
    func seal(
        _ plaintext: [UInt8], to board: RecipientKey, from key: SealKey, topic: String
    ) throws(AuthorityError) -> [UInt8]
    /// Opens what a board sealed; nil if it did not, or the topic is another.
    func open(
        _ envelope: SealedEnvelope, from deviceKey: [UInt8], with key: SealKey, topic: String
    ) -> [UInt8]?

    func sign(
        _ claims: AccessTokenClaims, with key: TokenSigningKey
    ) throws(AuthorityError) -> AccessToken

    /// The claims of a token, as bytes and not yet judged, if one of `keys` signed it: the
    /// one that its header names. Source: RFC 9068 §4.
    func claims(
        of token: AccessToken, signedBy keys: [SigningKey]
    ) throws(AccessTokenFault) -> [UInt8]

    /// Slow on purpose; runs apart from the threads that answer boards.
    func hashPassword(_ password: SecretBytes) async throws(AuthorityError) -> String
    /// Whether a hash was made at another cost than one is now.
    func isOutdated(passwordHash: String) -> Bool
    /// As slow with `hash` nil, which is never a match.
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
    /// Those that may change while the authority runs.
    package let signingKeys: any SigningKeySource
    /// For session tokens and claim secrets.
    package let tokenHash: SecretBytes
    /// For refresh tokens.
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

    /// Signs; the first of `published`.
    package var signing: TokenSigningKey { signingKeys.current.signing }
    /// All that boards should pin: the one that signs, and those whose tokens still live.
    package var published: [SigningKey] { signingKeys.current.published }
}
