import Gate
import Sessions
import Wire

extension Agent {
    /// Takes a reply to one of the board's own requests; any other is dropped. One that cannot
    /// be taken leaves its request open: it is repeated.
    ///
    /// Only the reply to a request of the last minute says what time it is: one that was kept
    /// for a repeated request, or held back on its way, would turn the clock back.
    mutating func replied(_ reply: Reply, at instant: Instant) throws(InboxFault) {
        guard let request = requests.find(reply.re), var trust = records.trust,
            var held = records.session
        else { throw InboxFault("a reply to nothing that was asked") }
        if let keys = reply.signKeys { trust.authority.signKeys = keys }
        if case .result(let result) = reply.outcome {
            try apply(result, of: request.kind, to: &held, under: trust, at: instant)
        }
        let isKept = isKept(request, after: reply, at: instant)
        if !isKept { requests.finish(request.id) }
        if request.isRecent(at: instant.monotonic) {
            clock.set(to: reply.now, at: instant)
            held.lastContact = reply.now
        } else {
            clock.raiseFloor(to: reply.now)
            held.lastContact = max(held.lastContact, reply.now)
        }
        records.memory.floor = clock.floor
        trust.isAcknowledged = true
        records.trust = trust
        records.session = held
        emit(.commit([.trust(trust), .session(held), .memory(records.memory)]))
        switch reply.outcome {
        case .result:
            requests.clockCorrections = 0
            if request.kind == .authenticate { planHeartbeat(at: instant) }
            planRefresh(at: instant)
            publishSessionIfChanged(at: instant)
        case .error(let refusal):
            if !isKept { refused(request.kind, refusal, at: instant) }
        }
    }

    /// A refresh that may have been acted on keeps its id, and is repeated: under another, the
    /// same token would look like theft.
    private func isKept(
        _ request: Requests.Pending, after reply: Reply, at instant: Instant
    ) -> Bool {
        guard request.kind == .refresh, case .error(let refusal) = reply.outcome else {
            return false
        }
        return refusal.is(.validation)
            && request.mayHaveCounted(now: reply.now, at: instant.monotonic)
    }

    private mutating func apply(
        _ result: Reply.Result, of kind: Requests.Kind, to held: inout HeldSession,
        under trust: Trust, at instant: Instant
    ) throws(InboxFault) {
        switch kind {
        case .authenticate:
            guard let session = result.session, let user = result.user, held.mayBecome(session),
                user.objectID == held.user.objectID
            else { throw InboxFault("an answer about another session") }
            held.session = session
            held.user = user
            if let scope = result.scope { adopt(try readScope(scope), scope, into: &held) }
        case .refresh:
            guard let session = result.session, let access = result.accessToken,
                let refresh = result.refreshToken, held.mayBecome(session)
            else { throw InboxFault("an answer about another session") }
            held.session = session
            held.tokens.refresh = refresh
            held.pendingRefresh = nil
            if isGood(access, of: session, under: trust) {
                held.tokens.access = access
                requests.hasAskedForKeys = false
                requests.refreshNotBefore = instant.monotonic + .seconds(5)
            } else {
                refreshedBadly(at: instant)
            }
        }
    }

    private func isGood(
        _ token: AccessToken, of session: Session, under trust: Trust
    ) -> Bool {
        guard let claims = try? cryptography.verify(token, keys: trust.authority.signKeys)
        else { return false }
        return fits(claims, session) && claims.issuer == trust.issuer
    }

    /// The old refresh token is spent, so the new one is kept; the access token is not. The
    /// authority is asked once for its keys. Source: the wire contract, The access token.
    private mutating func refreshedBadly(at instant: Instant) {
        emit(.log(.warning, "the access token that a refresh brought does not verify"))
        requests.refreshNotBefore = instant.monotonic + .seconds(60)
        guard !requests.hasAskedForKeys else { return }
        requests.hasAskedForKeys = true
        requests.heartbeatAt = instant.monotonic
    }

    /// An error that the authority answered with. 209 alone ends the session.
    private mutating func refused(
        _ kind: Requests.Kind, _ refusal: Refusal, at instant: Instant
    ) {
        if refusal.is(.invalidSession) {
            let expiry = records.session?.session.expiresAt
            let isExpired = expiry.map { $0 <= clock.now(at: instant) } ?? false
            endSession(isExpired ? .expired : .revoked, at: instant)
            return
        }
        if refusal.is(.validation), requests.clockCorrections < 3 {
            // The clock was off and is set now: no token was looked at, so ask again.
            requests.clockCorrections += 1
            askAgain(kind, at: instant)
            return
        }
        emit(.log(.warning, "the authority refused a \(kind): \(refusal.code) \(refusal.text)"))
        switch kind {
        case .authenticate: planHeartbeat(at: instant)
        case .refresh: requests.refreshAt = instant.monotonic + .seconds(300)
        }
    }

    private mutating func askAgain(_ kind: Requests.Kind, at instant: Instant) {
        switch kind {
        case .authenticate:
            requests.heartbeatAt = instant.monotonic
        case .refresh:
            records.session?.pendingRefresh = nil
            requests.refreshAt = instant.monotonic
        }
    }
}
