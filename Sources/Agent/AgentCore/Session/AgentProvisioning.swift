import Gate
import Sessions
import Wire

extension Agent {
    /// Takes a provisioning. All of it becomes durable in one transaction, or none of it. A
    /// refused provisioning leaves the claim secret and any session unchanged.
    mutating func provisioned(
        _ provision: Provision, by opened: OpenedMessage, at instant: Instant
    ) throws(InboxFault) {
        if opened.mode == .auth {
            guard let trust = records.trust, provision.sequence > trust.highestSequence else {
                throw InboxFault("a provisioning that is not newer than the last message accepted")
            }
        }
        doubtClock(against: provision, by: opened, at: instant)
        let issuer: String
        do throws(Refusal) {
            issuer = try examine(provision, by: opened, at: instant)
        } catch {
            refuse(provision, by: opened, error, at: instant)
            return
        }
        install(provision, issuer: issuer, by: opened, at: instant)
    }

    /// Answers each refused payload once per connection. Logs only refusals 1, 2, 4, 8, …,
    /// because a hostile sender can publish here without end.
    private mutating func refuse(
        _ provision: Provision, by opened: OpenedMessage, _ error: Refusal, at instant: Instant
    ) {
        inbox.refuseProvisioning()
        let refused = inbox.refusedProvisionings
        if refused & (refused - 1) == 0 {
            emit(.log(.warning, "refused \(refused) provisionings; the last: \(error.text)"))
        }
        if opened.mode == .psk { inbox.giveUp(opened.message.id) }
        guard inbox.answers(opened.digest) else { return }
        send(.provisionRejected(re: opened.message.id, error: error),
             to: provision.authority.sealKey, at: instant)
    }

    /// Checks every member of a provisioning. Returns the issuer of its access token.
    private func examine(
        _ provision: Provision, by opened: OpenedMessage, at instant: Instant
    ) throws(Refusal) -> String {
        let mode = opened.mode
        let now = clock.now(at: instant)
        let judgesTime = !clock.isUnset(at: instant)
        let session = provision.session
        if mode == .psk, inbox.hasGivenUp(opened.message.id) {
            throw refusal("it was refused before")
        }
        if judgesTime, provision.expiresAt <= now { throw refusal("it has expired") }
        // A board may have been accepted long before it hears of that.
        if judgesTime, let claim = records.claim, mode == .psk, !isJoining, claim.expiresAt <= now {
            throw refusal("the claim has expired")
        }
        guard session.restricted else { throw refusal("its session is not restricted") }
        guard session.installationID == records.identity.installation else {
            throw refusal("its session belongs to another installation")
        }
        guard session.user == provision.user.objectID else {
            throw refusal("its session belongs to another user")
        }
        if judgesTime, let end = session.expiresAt, end <= now {
            throw refusal("its session has ended")
        }
        if mode == .auth, records.trust?.user != provision.user.objectID {
            throw Refusal(.forbidden, "another user needs a claim secret")
        }
        if mode == .auth, records.memory.signOut != nil || records.memory.ended == .signedOut {
            throw Refusal(.forbidden, "after a sign-out on the board it needs a claim secret")
        }
        if let scope = provision.scope { try examine(scope) }
        if let uri = provision.broker?.uri, (try? BrokerURI(uri)) == nil {
            throw refusal("its broker's URI cannot be read")
        }
        if let ca = provision.broker?.ca, !cryptography.holdsCertificates(ca) {
            throw refusal("its broker.ca is not a PEM certificate")
        }
        guard (try? cryptography.keyID(of: provision.authority.sealKey)) != nil else {
            throw refusal("its authority.sealKey is not a valid key")
        }
        // The board's clock may be far behind, but the authority that sealed the message has a
        // correct one.
        let latest = max(now, opened.message.issuedAt)
        let issuer = try examineAccessToken(of: provision, at: latest).issuer
        if mode == .auth, records.trust?.issuer != issuer {
            throw refusal("its access token is from another issuer")
        }
        return issuer
    }

    private func examine(_ document: ScopeDocument) throws(Refusal) {
        guard let scope = try? Scope(document) else { throw refusal("its scope cannot be read") }
        for filter in scope.topics where !settings.topicRoot.mayGrant(filter.description) {
            throw refusal("its scope grants topics under the root, # or topics under $")
        }
    }

    private func examineAccessToken(
        of provision: Provision, at now: Timestamp
    ) throws(Refusal) -> AccessTokenClaims {
        let claims: AccessTokenClaims
        do throws(CryptographyFailure) {
            claims = try cryptography.verify(
                provision.tokens.access, keys: provision.authority.signKeys)
        } catch {
            throw refusal("its access token does not verify")
        }
        guard fits(claims, provision.session) else {
            throw refusal("its access token belongs to another session")
        }
        // An expired token is allowed here: the provisioning may have waited for the board.
        guard claims.hasBegun(at: now) else {
            throw refusal("its access token is not valid yet")
        }
        return claims
    }

    /// Whether a token's claims match this board, its key and `session`.
    func fits(_ claims: AccessTokenClaims, _ session: Session) -> Bool {
        claims.session == session.objectID && claims.subject == session.user
            && claims.installation == records.identity.installation && claims.restricted
            && claims.deviceKey == (try? cryptography.keyID(of: records.identity.deviceKey))
    }

    private func refusal(_ text: String) -> Refusal { Refusal(.validation, text) }

    private mutating func install(
        _ provision: Provision, issuer: String, by opened: OpenedMessage, at instant: Instant
    ) {
        clock.raiseFloor(to: opened.message.issuedAt)
        let old = oldAccess(of: provision, mode: opened.mode)
        let before = credentialBefore(provision, old, mode: opened.mode)
        let trust = Trust(
            authority: provision.authority,
            broker: provision.broker?.over(old) ?? old,
            firstPassword: before?.password, firstUsername: before?.username,
            highestSequence: provision.sequence, provision: opened.message.id,
            session: provision.session.objectID, payloadDigest: opened.digest,
            isAcknowledged: false, user: provision.user.objectID, issuer: issuer,
            spread: provision.spread)
        let held = HeldSession(
            session: provision.session, user: provision.user, tokens: provision.tokens,
            scope: provision.scope, lastBeforeScope: lastSequence(before: provision),
            heartbeat: provision.heartbeat, offline: provision.offline,
            lastContact: max(opened.message.issuedAt, clock.floor), pendingRefresh: nil)
        var changes: [RecordChange] = []
        let isAnothers = destroyOthersQueue(than: trust.user, into: &changes)
        records.memory.ended = nil
        records.memory.signOut = nil
        forgetToldConfiguration()
        records.memory.floor = clock.floor
        records.isUnreadable = false
        session.take(.provisioned)
        if opened.mode == .psk { records.claim = nil }
        let hasJoined = records.join != nil
        records.join = nil
        records.trust = trust
        records.session = held
        requests.forgetAll()
        uplink.provisioned(at: instant.monotonic)
        rules.setScope(Self.scope(of: held))
        changes += [
            .session(nil), .session(held), .trust(trust), .memory(records.memory),
            .claim(records.claim),
        ] + (hasJoined ? [.join(nil)] : []) + forgetCommands()
        emit(.commit(changes))
        emit(.log(.info, "provisioned by \(trust.authority.name) for \(held.user.username): "
            + "session \(held.session.objectID)"))
        if isAnothers { abandonUplink(at: instant) }
        publishSessionIfChanged(at: instant)
        // These commands and readers asked about the previous session.
        failed([.heartbeat, .refresh, .signOut], .over, at: instant)
        readersGetWhatThereIs(at: instant)
        announceAcceptance(at: instant)
        startRequests(after: .provisioned, at: instant)
    }

    /// The last write that was accepted under another scope than this one, or under one that is
    /// not known any more.
    private func lastSequence(before provision: Provision) -> Int64 {
        guard let held = records.session, held.scope == provision.scope else {
            return records.lastSequence
        }
        return held.lastBeforeScope
    }

    /// Whether the board belonged to another user. Then the outbox of that user and its key are
    /// destroyed first. The store counts its messages as lost. If the trust cannot be read, the
    /// users of the queued rows decide.
    private mutating func destroyOthersQueue(
        than user: UserID, into changes: inout [RecordChange]
    ) -> Bool {
        let isAnothers = records.trust.map { $0.user != user }
            ?? records.queueUsers.contains { $0 != user.description }
        records.queueUsers = []
        guard isAnothers else { return false }
        changes.append(.destroyQueue)
        bus.forgetKeys()
        emit(.log(.warning, "claimed by another user: the previous user's session and "
            + "\(outbox.queue.messages) queued messages are destroyed"))
        return true
    }

    /// The known access to this authority's broker. Nil for another authority: its URI, CA and
    /// user name do not apply, and would leave the board under its control.
    private func oldAccess(
        of provision: Provision, mode: SealedEnvelope.Mode
    ) -> BrokerAccess? {
        guard let trust = records.trust,
            mode == .auth || trust.authority.sealKey == provision.authority.sealKey
        else { return nil }
        return trust.broker
    }

    /// The login to use until the provisioned password has worked, or if none was provisioned. If
    /// a claim brings a password, this is the login that the claim secret gives. It may differ
    /// from the login that received this message, because the authority may be about to set it.
    private func credentialBefore(
        _ provision: Provision, _ old: BrokerAccess?, mode: SealedEnvelope.Mode
    ) -> BrokerCredential? {
        if provision.broker?.password == nil, old?.password != nil {
            return records.trust?.firstCredential
        }
        let derived = records.claim.map { $0.secrets.compactMap(firstCredential) } ?? []
        let used = derived.first { uplink.credential?.password.matches($0.password) == true }
        if mode == .psk, provision.broker?.password != nil, let own = used ?? derived.first {
            return own
        }
        return uplink.credential ?? derived.first
    }

    /// Sends the acceptance at each connect. It has no reply. The reply to any later request ends
    /// the repeats, because a request with the new session's token also counts as acceptance.
    mutating func announceAcceptance(at instant: Instant) {
        guard uplink.isReady, let trust = records.trust, !trust.isAcknowledged,
            records.session?.session.objectID == trust.session
        else { return }
        send(.provisionAccepted(re: trust.provision, session: trust.session), at: instant)
    }
}

extension BrokerAccess {
    /// Replaces the members of `old` by the members that are present here.
    fileprivate func over(_ old: BrokerAccess?) -> BrokerAccess {
        BrokerAccess(
            uri: uri ?? old?.uri, username: username ?? old?.username,
            password: password ?? old?.password, ca: ca ?? old?.ca)
    }
}
