import Gate
import Sessions
import Wire

extension Agent {
    /// Takes a reply to one of the board's own requests and drops any other. If a reply cannot be
    /// used, its request stays open and is repeated.
    ///
    /// Only a reply to a request of the last minute sets the clock. An older reply may be stored
    /// or delayed, and would turn the clock back.
    mutating func replied(_ reply: Reply, at instant: Instant) throws(InboxFault) {
        if takeSignOutReply(reply, at: instant) { return }
        if takeResultReply(reply, at: instant) { return }
        guard let request = requests.find(reply.re), var trust = records.trust,
            var held = records.session
        else { throw InboxFault("a reply without a request") }
        if case .error(let refusal) = reply.outcome, refusal.is(.rateLimit) {
            return putOff(request, after: refusal, at: instant)
        }
        uplink.authorityAnswered(isBusy: false)
        if let keys = reply.signKeys { trust.authority.signKeys = keys }
        if case .result(let result) = reply.outcome {
            try apply(result, of: request, in: reply, to: &held, under: trust, at: instant)
            if let spread = result.spread { trust.spread = spread }
        }
        let isKept = isKept(request, after: reply, at: instant)
        if !isKept { requests.finish(request.id) }
        if request.isRecent(at: instant.monotonic) {
            clock.set(to: request.sample(of: reply, at: instant.monotonic), at: instant)
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
            requests.granted(request.kind)
            if request.kind == .authenticate {
                requests.forgetExtension()
                rules.news.answered(request.id)
                planNextHeartbeat(from: instant)
                retryIfForbidden()
            }
            planRefresh(at: instant)
            publishSessionIfChanged(at: instant)
            if request.kind == .list {
                requests.listed(at: instant.monotonic)
                readersGetWhatThereIs(at: instant)
            }
            if let awaited = request.kind.awaited { heard(awaited, at: instant) }
            if request.kind == .authenticate { askForConfiguration(at: instant) }
        case .error(let refusal):
            if !isKept { refused(request, refusal, by: reply.now, at: instant) }
        }
    }

    /// Whether to keep and repeat a refresh under its id. It may already have taken effect, and
    /// the same token under another id would look like theft.
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
            // The reply may be older than an update, so only heartbeats and updates change the
            // session.
            held.tokens.refresh = refresh
            held.pendingRefresh = nil
            take(access, into: &held, under: trust, now: now, at: instant)
        case .list:
            guard let sessions = result.sessions else {
                throw InboxFault("an answer without the requested sessions")
            }
            held.keep(sessions)
        case .saveConfiguration:
            records.memory.toldConfiguration = backup.saved()
        case .getConfiguration:
            if let rules = restored(by: result) { emit(.restore(rules)) }
        }
    }

    /// Handles an error reply of the authority. Only error 209 ends the session.
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
        // Error 142 also means that an extension exceeds its limit. Then it says nothing about
        // the clock.
        if refusal.is(.validation), request.wasOff(by: now), requests.correctsClock() {
            // The clock was wrong and is set now. The authority did not check the token, so ask
            // again.
            askAgain(kind, at: instant)
            return
        }
        if kind == .list {
            requests.listed(at: instant.monotonic)
            readersGetWhatThereIs(at: instant)
        }
        emit(.log(.warning, "the authority refused a \(kind): \(refusal.code) \(refusal.text)"))
        // The authority was restored from a backup. The session and the queue stay, and a person
        // must act.
        let isNotIssued = refusal.is(.notFound)
        if isNotIssued, kind.isOfSession { requests.neverIssued(kind) }
        switch kind {
        case .authenticate:
            requests.forgetExtension()
            planNextHeartbeat(from: instant)
        case .refresh:
            let pause = isNotIssued ? requests.pauseOfRefresh() : .seconds(300)
            requests.setRefresh(due: instant.monotonic + pause)
        case .saveConfiguration: backup.saveLater(at: instant.monotonic)
        case .list, .getConfiguration: break
        }
        if let awaited = kind.awaited { failed([awaited], .refused(refusal), at: instant) }
    }

    private mutating func askAgain(_ kind: Requests.Kind, at instant: Instant) {
        switch kind {
        case .authenticate:
            requests.setHeartbeat(due: instant.monotonic)
        case .refresh:
            records.session?.pendingRefresh = nil
            requests.setRefresh(due: instant.monotonic)
        case .list:
            if !session.readers.isEmpty { listSessions(at: instant) }
        // The next heartbeat asks again, and the rules are sent after their pause.
        case .getConfiguration: backup.askSoon()
        case .saveConfiguration: break
        }
    }
}

extension Requests.Kind {
    /// Whether an answer to it says if the authority knows the session's tokens. The others would
    /// keep such an answer for long.
    fileprivate var isOfSession: Bool {
        switch self {
        case .authenticate, .refresh, .list: true
        case .saveConfiguration, .getConfiguration: false
        }
    }
}
