import Sessions
import Wire

/// An identity proven by an id token that is not marked as used yet.
struct ProvenIdentity: Sendable {
    let provider: IdentityProvider
    let subject: String
    /// The keys under which the try was counted.
    let keys: LoginKeys
    /// Whether the page's button brought it. A client brought any other.
    fileprivate let isOfPage: Bool
    fileprivate let authenticatedAt: Timestamp?
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

    /// Whether the login confirms who the person is. A provider that knows the browser may ask
    /// nothing, so it must say that the person was there in the last five minutes.
    ///
    /// A provider with a button must say so to Parse's clients, too. Otherwise somebody at an open
    /// browser would exchange the code elsewhere and send the token as a client.
    ///
    /// Source: OpenID Connect Core §2 (`auth_time`).
    func confirms(at now: Timestamp) -> Bool {
        guard isOfPage || provider.entry != nil else { return true }
        guard let authenticatedAt else { return false }
        return authenticatedAt <= now + IDTokenClaims.ahead
            && now - authenticatedAt < SessionRecord.confirmationLife
    }

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
        switch try await proven(proof, by: provider, keys) {
        case .failure(let fault): throw try await refuse(fault, proof.provider, from: origin)
        case .success(let proven): return proven
        }
    }

    /// The same for a try that is counted already. A refusal is not in the audit log yet.
    func proven(
        _ proof: IdentityProof, by provider: IdentityProvider, _ keys: LoginKeys
    ) async throws(AuthorityError) -> Result<ProvenIdentity, IDTokenFault> {
        switch try await claims(of: proof, by: provider, keys) {
        case .failure(let fault): return .failure(fault)
        case .success(let claims):
            return .success(ProvenIdentity(
                provider: provider, subject: claims.subject, keys: keys,
                isOfPage: proof.nonce != nil, authenticatedAt: claims.authenticatedAt,
                tokenHash: try hash(of: proof.token), lastUse: claims.lastUse))
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
            if let nonce = proof.nonce {
                let said = SecretBytes(Array((claims.nonce ?? "").utf8))
                guard nonce.matches(said) else { throw .otherVisit }
                // The page is one client, and the other audiences are others.
                guard let page = provider.entry?.clientID, claims.audiences.contains(page),
                    claims.party ?? page == page
                else { throw .otherAudience }
            }
            return claims
        }
    }

    /// Writes the reason to the audit log, without the token, and returns the error for the client.
    func refuse(
        _ fault: IDTokenFault, _ provider: LoginProvider, from origin: String
    ) async throws(AuthorityError) -> AuthorityError {
        try await noteFailure(fault.words, provider, from: origin)
        return .refuse(.notFound, "the id token of \(provider) is not accepted: \(fault.words)")
    }

    func noteFailure(
        _ words: String, _ provider: LoginProvider, from origin: String
    ) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try audit(
                "login.failed", "unknown", nil, nil, "\(origin), \(provider): \(words)",
                transaction, at: now)
        }
    }
}
