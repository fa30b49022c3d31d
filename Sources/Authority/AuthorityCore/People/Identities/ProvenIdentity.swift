import Sessions
import Wire

/// A person whom a token has proven, the token not yet spent.
struct ProvenIdentity: Sendable {
    let provider: IdentityProvider
    let subject: String
    /// Under what the try was counted.
    let keys: LoginKeys
    /// Of what was signed, so that no other signature makes another token of it.
    fileprivate let tokenHash: [UInt8]
    fileprivate let lastUse: Timestamp

    /// A token serves once. Whoever saw it on its way would else be that person until it
    /// expires; and a client whose answer was lost can always get another. What fails later in
    /// the same transaction has not spent it. It is remembered somewhat longer than it is good,
    /// for the clock may be set back.
    func spend(_ transaction: any AuthorityTransaction) throws(AuthorityError) -> Bool {
        try transaction.spendIDToken(hash: tokenHash, until: lastUse + Self.margin)
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
    /// Judges what somebody else says of a person. A try counts before it is looked at, as a
    /// password's does; one for which the provider's keys cannot be had counts for its address
    /// alone.
    func prove(
        _ proof: IdentityProof, from origin: String
    ) async throws(AuthorityError) -> ProvenIdentity {
        guard let provider = rules.providers[proof.provider] else {
            throw .refuse(.forbidden, "this authority believes no provider of that name")
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

    /// Notes why, without anything of the token, and returns what the client is told.
    func refuse(
        _ fault: IDTokenFault, _ provider: LoginProvider, from origin: String
    ) async throws(AuthorityError) -> AuthorityError {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try audit(
                "login.failed", "unknown", nil, nil, "\(origin), \(provider): \(fault.words)",
                transaction, at: now)
        }
        return .refuse(.notFound, "the id token of \(provider) is of no use: \(fault.words)")
    }
}
