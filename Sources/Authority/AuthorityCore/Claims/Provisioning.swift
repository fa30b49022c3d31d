import Sessions
import Wire

/// Makes one provisioning message, within the transaction that opens its claim.
struct Provisioning {
    let authority: Authority
    let transaction: any AuthorityTransaction
    let board: ProvisionedBoard
    let claimant: UserRecord
    /// The user name of the person who asks.
    let actor: String
    /// How the claimant's present session began.
    let asking: CreatedWith
    let scope: ScopeText?
    /// Nil: the authority's own limit, or the end of an imported session.
    let duration: Duration?
    let custom: CustomFields
    let brought: CheckedImport?
    /// The expired session that a renewal replaces.
    var renewed: SessionRecord?
    let now: Timestamp

    /// Stores the pending session, its family, the open claim with the sealed message, and the
    /// broker jobs.
    func makeClaim() throws(AuthorityError) -> ClaimRecord {
        let token = if let brought {
            brought.session
        } else {
            try authority.newSessionToken(at: now)
        }
        let family = try newFamily()
        let record = try session(token, family)
        let claimKeys = try board.secret.map { secret throws(AuthorityError) in
            try authority.cryptography.claimKeys(secret: secret, board: board.installation)
        }
        let (password, former) = try login(claimKeys)
        let sealed = try seal(record, token, family, claimKeys, password)
        let claim = ClaimRecord(
            id: sealed.id, installation: board.installation, session: record.id,
            claimant: claimant.objectID, state: .sent, createdAt: now,
            expiresAt: expiry(of: record), secretHash: try secretHash(),
            boardName: board.name, deviceKey: board.deviceKey, payload: sealed.payload,
            brokerPassword: password, formerPassword: former,
            tokenOrigin: brought?.origin ?? .made, renews: renewed?.id)
        try transaction.save(record, at: now)
        try transaction.save(RefreshFamily(id: family, session: record.id, generation: 1))
        guard try transaction.insert(claim) else {
            throw .refused(
                Refusal(.forbidden, "another claim of this board is open", name: .claimOpen))
        }
        try audit(claim, of: record)
        try authority.note(.made, of: record, "by \(actor)", transaction, at: now)
        try authority.addBrokerJobs(
            board.installation, newPassword: password != nil, transaction, at: now)
        return claim
    }

    private func audit(_ claim: ClaimRecord, of record: SessionRecord) throws(AuthorityError) {
        let detail = if let renewed {
            "in place of \(renewed.id)"
        } else if claim.tokenOrigin == .made {
            board.name
        } else {
            "\(board.name), with a \(claim.tokenOrigin.rawValue) session token"
        }
        try authority.audit(
            renewed == nil ? "claim" : "board.renew", actor, board.installation, record.id, detail,
            transaction, at: now)
    }

    /// HMAC of the claim secret. Random for a renewal, which has no secret.
    private func secretHash() throws(AuthorityError) -> [UInt8] {
        guard let secret = board.secret else { return try authority.cryptography.random(32) }
        return try authority.hash(of: secret)
    }

    /// A claim expires with its session at the latest.
    private func expiry(of record: SessionRecord) -> Timestamp {
        let waits = now + (renewed == nil
            ? authority.rules.claimLifetime : AuthorityRules.renewalLifetime)
        return min(waits, record.certainEnd(under: authority.rules.lifetimes) ?? waits)
    }

    private func newFamily() throws(AuthorityError) -> RefreshFamilyID {
        let random = try authority.cryptography.random(RefreshFamilyID.randomCount)
        guard let family = RefreshFamilyID(madeAt: now, random: random) else {
            throw .failed(layer: "crypto", text: "too few random bytes")
        }
        return family
    }

    /// The session for the board: the imported one, or a new one.
    private func session(
        _ token: SessionToken, _ family: RefreshFamilyID
    ) throws(AuthorityError) -> SessionRecord {
        var record = if let known = brought?.known { known } else { try newSession(token) }
        record.state = .pending
        record.family = family
        record.deviceKey = board.deviceKey
        record.scope = scope
        record.session.installationID = board.installation
        record.session.custom = try CustomFields(
            custom.members, over: record.session.custom).members
        guard let duration else { return record }
        let end = wholeSeconds(began + duration)
        if let limit = record.latestEnd(under: authority.rules.lifetimes), end > limit {
            throw .refuse(.validation, "that is after the session's absolute limit")
        }
        record.session.expiresAt = end
        return record
    }

    private func newSession(_ token: SessionToken) throws(AuthorityError) -> SessionRecord {
        let limit = authority.rules.lifetimes.absolute.map { began + $0 }
        let id = if let named = brought?.access?.session {
            named
        } else {
            try authority.newObjectID()
        }
        let session = Session(
            objectID: id, user: claimant.objectID, restricted: true,
            createdWith: renewed?.session.createdWith ?? CreatedWith(.create, asIn: asking),
            installationID: board.installation, createdAt: began,
            expiresAt: limit.map(wholeSeconds))
        return SessionRecord(
            session: session, state: .pending, tokenHash: try authority.hash(of: token.secret),
            family: nil, deviceKey: board.deviceKey, scope: nil, absoluteLimit: limit,
            lastSeen: now)
    }

    private var began: Timestamp { wholeSeconds(now) }

    /// The wire has whole seconds, so the store uses the same values.
    private func wholeSeconds(_ time: Timestamp) -> Timestamp {
        Timestamp(milliseconds: time.seconds * 1000)
    }

    /// Sets the derived password as the board's login. Returns a new password that replaces it on
    /// acceptance, and the login of an expired board, which comes back without one.
    ///
    /// Nil if the login stays unchanged: a renewal, or a session lives on the board, or the board
    /// has not answered a revocation, which it could not receive with another login.
    private func login(
        _ keys: ClaimKeys?
    ) throws(AuthorityError) -> (new: SecretBytes?, former: SecretBytes?) {
        let id = board.installation
        guard let keys, authority.rules.managesBrokerAccess,
            try transaction.activeSession(on: id) == nil,
            try !authority.awaitsAnswer(from: id, transaction, at: now)
        else { return (nil, nil) }
        let isKept = try transaction.departing(on: id)?.isRenewable == true
        let former = isKept ? try transaction.brokerPassword(of: id) : nil
        try transaction.setBrokerPassword(keys.brokerPassword, of: id)
        let text = Base64URL.encode(try authority.cryptography.random(32))
        return (SecretBytes(Array(text.utf8)), former)
    }

    private func seal(
        _ record: SessionRecord, _ token: SessionToken, _ family: RefreshFamilyID,
        _ claimKeys: ClaimKeys?, _ password: SecretBytes?
    ) throws(AuthorityError) -> (id: MessageID, payload: [UInt8]) {
        let format = RefreshTokenFormat(
            cryptography: authority.cryptography, key: authority.keys.refresh)
        let access = if let brought = brought?.access {
            brought.token
        } else {
            try authority.accessToken(for: record, at: now)
        }
        let tokens = SessionTokens(
            session: token, access: access,
            refresh: try format.token(family: family, generation: 1))
        let message = AuthorityMessage(
            id: try authority.newMessageID(), issuedAt: now,
            body: .provision(try provision(record, tokens, password)))
        let recipient = RecipientKey(board: board.installation, key: board.deviceKey)
        let topic = authority.inbox(of: board.installation)
        let payload = if let claimKeys {
            try authority.cryptography.sealProvision(
                message.plaintext, to: recipient, claim: claimKeys, topic: topic)
        } else {
            try authority.cryptography.seal(
                message.plaintext, to: recipient, from: authority.keys.seal, topic: topic)
        }
        return (message.id, payload)
    }

    /// Never longer than the idle limit, because after that the session has ended anyway.
    private func offline(of record: SessionRecord) -> Duration {
        let lifetimes = authority.rules.lifetimes
        let left = record.certainEnd(under: lifetimes).map { $0 - began }
        return [authority.rules.offline, lifetimes.idle, left].compactMap { $0 }.min()
            ?? authority.rules.offline
    }

    private func provision(
        _ record: SessionRecord, _ tokens: SessionTokens, _ password: SecretBytes?
    ) throws(AuthorityError) -> Provision {
        let keys = authority.keys
        var provision = Provision(
            sequence: try transaction.nextSequence(
                sealKey: keys.seal.id, board: board.installation, at: now),
            expiresAt: expiry(of: record),
            authority: PinnedAuthority(
                name: authority.info.name, sealKey: keys.seal.publicKey,
                signKeys: keys.published),
            session: record.session, user: claimant.profile, tokens: tokens,
            scope: try scope?.document(), heartbeat: authority.rules.heartbeat,
            offline: offline(of: record),
            broker: broker(password))
        provision.spread = authority.rules.spread()
        return provision
    }

    /// The broker's address and CA, also for a board that keeps its login. Nil if there is nothing
    /// to send.
    private func broker(_ password: SecretBytes?) -> BrokerAccess? {
        let place = authority.rules.brokerPlace
        guard password != nil || place != nil else { return nil }
        return BrokerAccess(
            uri: place?.uri, username: nil, password: password, ca: place?.ca)
    }
}

/// The board that a provisioning is for.
struct ProvisionedBoard {
    let installation: InstallationID
    let deviceKey: [UInt8]
    let name: String
    /// The claim secret. Nil for a renewal: then the board's pinned seal key proves the sender.
    let secret: SecretBytes?

    init(_ url: ClaimURL) {
        installation = url.installation
        deviceKey = url.deviceKey
        name = url.name
        secret = url.secret
    }

    init(_ board: BoardRecord) {
        installation = board.installation
        deviceKey = board.deviceKey
        name = board.name
        secret = nil
    }
}
