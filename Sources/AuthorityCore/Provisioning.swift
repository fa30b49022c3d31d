import Sessions
import Wire

/// The making of one provisioning, within the transaction that opens its claim.
struct Provisioning {
    let authority: Authority
    let transaction: any AuthorityTransaction
    let url: ClaimURL
    let claimant: UserRecord
    let scope: ScopeText?
    let duration: Duration
    let now: Timestamp

    /// Records the pending session, its family and the open claim with the sealed message,
    /// and what the broker is to be told.
    func open() throws(AuthorityError) -> ClaimRecord {
        let token = try authority.newSessionToken()
        let family = try newFamily()
        let record = try newSession(token, family)
        let claimKeys = try authority.cryptography.claimKeys(
            secret: url.secret, board: url.installation)
        let password = try login(claimKeys)
        let sealed = try seal(record, token, family, claimKeys, password)
        let claim = ClaimRecord(
            id: sealed.id, installation: url.installation, session: record.id,
            claimant: claimant.objectID, state: .sent, createdAt: now, expiresAt: expiresAt,
            secretHash: try authority.hash(of: url.secret), boardName: url.name,
            deviceKey: url.deviceKey, payload: sealed.payload, brokerPassword: password)
        try transaction.save(record, at: now)
        try transaction.save(RefreshFamily(id: family, session: record.id, generation: 1))
        guard try transaction.insert(claim) else {
            throw .refuse(.forbidden, "another claim of this board is open")
        }
        try authority.audit(
            "claim", claimant.username, url.installation, record.id, url.name, transaction,
            at: now)
        try authority.settleBroker(
            url.installation, newPassword: password != nil, transaction, at: now)
        return claim
    }

    private var expiresAt: Timestamp {
        now + min(authority.rules.claimLifetime, duration)
    }

    private func newFamily() throws(AuthorityError) -> RefreshFamilyID {
        guard let family = RefreshFamilyID(try authority.cryptography.random(16)) else {
            throw .failed(layer: "crypto", text: "too few random bytes")
        }
        return family
    }

    private func newSession(
        _ token: SessionToken, _ family: RefreshFamilyID
    ) throws(AuthorityError) -> SessionRecord {
        let session = Session(
            objectID: try authority.newObjectID(), user: claimant.objectID, restricted: true,
            createdWith: CreatedWith(action: "create", authProvider: "password"),
            installationID: url.installation, createdAt: wholeSeconds(now),
            expiresAt: wholeSeconds(now + duration))
        return SessionRecord(
            session: session, state: .pending, tokenHash: try authority.hash(of: token.secret),
            family: family, deviceKey: url.deviceKey, scope: scope,
            absoluteLimit: now + authority.rules.lifetimes.absolute, lastSeen: now)
    }

    /// Times cross the wire as whole seconds; what is stored is what was said.
    private func wholeSeconds(_ time: Timestamp) -> Timestamp {
        Timestamp(milliseconds: time.seconds * 1000)
    }

    /// Lets the board in under the derived password, and returns the one that is to follow;
    /// nil where a session lives on the board, whose login is then left as it is.
    private func login(_ keys: ClaimKeys) throws(AuthorityError) -> SecretBytes? {
        guard authority.rules.managesBrokerAccess,
            try transaction.activeSession(on: url.installation) == nil
        else { return nil }
        try transaction.setBrokerPassword(keys.brokerPassword, of: url.installation)
        let text = Base64URL.encode(try authority.cryptography.random(32))
        return SecretBytes(Array(text.utf8))
    }

    private func seal(
        _ record: SessionRecord, _ token: SessionToken, _ family: RefreshFamilyID,
        _ claimKeys: ClaimKeys, _ password: SecretBytes?
    ) throws(AuthorityError) -> (id: MessageID, payload: [UInt8]) {
        let format = RefreshTokenFormat(
            cryptography: authority.cryptography, key: authority.keys.refresh)
        let tokens = SessionTokens(
            session: token, access: try authority.accessToken(for: record, at: now),
            refresh: try format.token(family: family, generation: 1))
        let message = AuthorityMessage(
            id: try authority.newMessageID(), issuedAt: now,
            body: .provision(try provision(record, tokens, password)))
        let payload = try authority.cryptography.sealProvision(
            message.plaintext,
            to: RecipientKey(board: url.installation, key: url.deviceKey), claim: claimKeys,
            topic: authority.inbox(of: url.installation))
        return (message.id, payload)
    }

    /// A board that was away for longer than the idle limit has lost its session anyway.
    private var offline: Duration {
        min(authority.rules.offline, authority.rules.lifetimes.idle ?? duration, duration)
    }

    private func provision(
        _ record: SessionRecord, _ tokens: SessionTokens, _ password: SecretBytes?
    ) throws(AuthorityError) -> Provision {
        let keys = authority.keys
        return Provision(
            sequence: try transaction.nextSequence(
                sealKey: keys.seal.id, board: url.installation, at: now),
            expiresAt: expiresAt,
            authority: PinnedAuthority(
                name: authority.info.name, sealKey: keys.seal.publicKey,
                signKeys: keys.published),
            session: record.session, user: claimant.profile, tokens: tokens,
            scope: try scope?.document(), heartbeat: authority.rules.heartbeat,
            offline: offline,
            broker: password.map {
                BrokerAccess(uri: nil, username: nil, password: $0, ca: nil)
            })
    }
}
