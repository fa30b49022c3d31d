import Sessions
import Wire

/// An identity proven by an id token that is not marked as used yet.
struct ProvenIdentity: Sendable {
    let provider: IdentityProvider
    let subject: String
    /// The keys under which the try was counted.
    let keys: LoginKeys
    /// Hash of the signed part, so that another signature does not make another token.
    fileprivate let tokenHash: [UInt8]
    fileprivate let lastUse: Timestamp

    /// Marks the token as used. A token can be used once: otherwise anyone who saw it could log in
    /// with it until it expires. A client that lost its answer can get another token. If the
    /// transaction fails later, the token stays unused. Used tokens are stored an hour longer than
    /// they are valid, because the clock may be set back.
    func spend(_ transaction: any AuthorityTransaction) throws(AuthorityError) -> Bool {
        try transaction.spend(hash: tokenHash, until: lastUse + Self.margin)
    }

    private static let margin = Duration.seconds(3600)

    func known(
        _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> IdentityRecord? {
        try transaction.identity(provider.name, issuer: provider.issuer, subject: subject)
    }

    func record(of user: UserID, at now: Timestamp) -> IdentityRecord {
        IdentityRecord(
            provider: provider.name, issuer: provider.issuer, subject: subject, user: user,
            createdAt: now)
    }
}

extension Authority {
    /// Checks a provider's proof. A try counts before the check, as with a password. If the
    /// provider's keys cannot be loaded, the try counts only for its address.
    func prove(
        _ proof: IdentityProof, from origin: String
    ) async throws(AuthorityError) -> ProvenIdentity {
        guard let provider = rules.providers[proof.provider] else {
            throw .refuse(.forbidden, "this authority has no provider with that name")
        }
        let keys = LoginKeys(provider: proof.provider, origin: origin)
        try await countApart(keys)
        switch try await claims(of: proof, by: provider, keys) {
        case .failure(let fault):
            throw try await refuse(fault, proof.provider, from: origin)
        case .success(let claims):
            return ProvenIdentity(
                provider: provider, subject: claims.subject, keys: keys,
                tokenHash: try hash(of: proof.token), lastUse: claims.lastUse)
        }
    }

    private func hash(of token: IDToken) throws(AuthorityError) -> [UInt8] {
        try hash(of: SecretBytes(Array("id token ".utf8) + token.signedPart.reveal()))
    }

    private func claims(
        of proof: IdentityProof, by provider: IdentityProvider, _ keys: LoginKeys
    ) async throws(AuthorityError) -> Result<IDTokenClaims, IDTokenFault> {
        let payload: Result<[UInt8], IDTokenFault>
        do throws(AuthorityError) {
            payload = try await signatures.payload(of: proof.token, from: provider.name)
        } catch {
            try await store.transact { transaction throws(AuthorityError) in
                try transaction.clearFailures(keys.each)
            }
            throw error
        }
        let now = clock()
        return Result { () throws(IDTokenFault) in
            let claims = try IDTokenClaims(parsing: try payload.get())
            try claims.judge(by: provider, at: now)
            guard proof.id == nil || proof.id == claims.subject else { throw .otherPerson }
            return claims
        }
    }

    /// Writes the reason to the audit log, without the token, and returns the error for the client.
    func refuse(
        _ fault: IDTokenFault, _ provider: LoginProvider, from origin: String
    ) async throws(AuthorityError) -> AuthorityError {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try audit(
                "login.failed", "unknown", nil, nil, "\(origin), \(provider): \(fault.words)",
                transaction, at: now)
        }
        return .refuse(.notFound, "the id token of \(provider) is not accepted: \(fault.words)")
    }
}
