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
        if takeSignOutReply(reply, at: instant) { return }
        guard let request = requests.find(reply.re), var trust = records.trust,
            var held = records.session
        else { throw InboxFault("a reply to nothing that was asked") }
        if case .error(let refusal) = reply.outcome, refusal.is(.rateLimit) {
            return putOff(request, after: refusal, at: instant)
        }
        uplink.isAuthorityBusy = false
        if let keys = reply.signKeys { trust.authority.signKeys = keys }
        if case .result(let result) = reply.outcome {
            try apply(result, of: request, in: reply, to: &held, under: trust, at: instant)
            if let spread = result.spread { trust.spread = spread }
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
        tellGrantsIfNew()
        heardFromAuthority(at: instant)
        switch reply.outcome {
        case .result:
            requests.clockCorrections = 0
            requests.granted(request.kind)
            if request.kind == .authenticate {
                requests.minutes = nil
                rulesNews.answered(request.id)
                planHeartbeat(at: instant)
                retryIfForbidden()
            }
            planRefresh(at: instant)
            publishSessionIfChanged(at: instant)
            if request.kind == .list {
                requests.listedAt = instant.monotonic
                readersGetWhatThereIs(at: instant)
            }
            if let awaited = request.kind.awaited { heard(awaited, at: instant) }
        case .error(let refusal):
            if !isKept { refused(request, refusal, by: reply.now, at: instant) }
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
        _ result: Reply.Result, of request: Requests.Pending, in reply: Reply,
        to held: inout HeldSession, under trust: Trust, at instant: Instant
    ) throws(InboxFault) {
        let isRecent = request.isRecent(at: instant.monotonic)
        let clockNow = clock.isUnset(at: instant) ? nil : clock.now(at: instant)
        let now = isRecent ? reply.now : clockNow
        switch request.kind {
        case .authenticate:
            guard let session = result.session, let user = result.user, held.mayBecome(session),
                user.objectID == held.user.objectID
            else { throw InboxFault("an answer about another session") }
            held.session = session
            held.user = user
            if result.isShared { toldOfAnother(at: instant) }
            if let scope = result.scope { adopt(try readScope(scope), scope, into: &held) }
            verifyAgain(&held, under: trust, now: now, at: instant)
        case .refresh:
            guard let session = result.session, let access = result.accessToken,
                let refresh = result.refreshToken, held.mayBecome(session)
            else { throw InboxFault("an answer about another session") }
            held.session = session
            held.tokens.refresh = refresh
            held.pendingRefresh = nil
            take(access, into: &held, under: trust, now: now, at: instant)
        case .list:
            guard let sessions = result.sessions else {
                throw InboxFault("an answer without the sessions asked for")
            }
            held.keep(sessions)
        }
    }

    /// An error that the authority answered with. 209 alone ends the session.
    private mutating func refused(
        _ request: Requests.Pending, _ refusal: Refusal, by now: Timestamp, at instant: Instant
    ) {
        let kind = request.kind
        if refusal.is(.invalidSession) {
            let expiry = records.session?.session.expiresAt
            let isExpired = expiry.map { $0 <= clock.now(at: instant) } ?? false
            endSession(isExpired ? .expired : .revoked, at: instant)
            return
        }
        // An extension past its limit is 142 too, and says nothing of the clock.
        if refusal.is(.validation), request.wasOff(by: now), requests.clockCorrections < 3 {
            // The clock was off and is set now: no token was looked at, so ask again.
            requests.clockCorrections += 1
            askAgain(kind, at: instant)
            return
        }
        if kind == .list {
            // Not at each reader's pace: the next may ask after a heartbeat.
            requests.listedAt = instant.monotonic
            readersGetWhatThereIs(at: instant)
        }
        emit(.log(.warning, "the authority refused a \(kind): \(refusal.code) \(refusal.text)"))
        // It came back from a backup: session and queue stay, and a person must act.
        let isNotIssued = refusal.is(.notFound)
        if isNotIssued { requests.notIssued.insert(kind) }
        switch kind {
        case .authenticate:
            requests.minutes = nil
            planHeartbeat(at: instant)
        case .refresh:
            requests.refreshAt = instant.monotonic
                + (isNotIssued ? requests.pauseOfRefresh() : .seconds(300))
        case .list: break
        }
        if let awaited = kind.awaited { failed([awaited], .refused(refusal), at: instant) }
    }

    private mutating func askAgain(_ kind: Requests.Kind, at instant: Instant) {
        switch kind {
        case .authenticate:
            requests.heartbeatAt = instant.monotonic
        case .refresh:
            records.session?.pendingRefresh = nil
            requests.refreshAt = instant.monotonic
        case .list:
            if !readers.isEmpty { listSessions(at: instant) }
        }
    }
}
