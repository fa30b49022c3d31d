import Gate
import Sessions
import Wire

extension Agent {
    /// Takes a reply to one of the board's own requests; any other is dropped. One that cannot
    /// be taken leaves its request open: it is repeated.
    mutating func replied(_ reply: Reply, at instant: Instant) throws(InboxFault) {
        guard let request = requests.find(reply.re), var trust = records.trust,
            var held = records.session
        else { throw InboxFault("a reply to nothing that was asked") }
        if case .result(let result) = reply.outcome {
            try apply(result, of: request.kind, to: &held)
        }
        requests.finish(request.id)
        clock.set(to: reply.now, at: instant)
        records.memory.floor = clock.floor
        trust.isAcknowledged = true
        if let keys = reply.signKeys { trust.authority.signKeys = keys }
        held.lastContact = reply.now
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
            refused(request.kind, refusal, at: instant)
        }
    }

    private mutating func apply(
        _ result: Reply.Result, of kind: Requests.Kind, to held: inout HeldSession
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
            held.tokens.access = access
            held.tokens.refresh = refresh
            held.pendingRefresh = nil
        }
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
