import Gate
package import Sessions
import Wire

extension Agent {
    /// The session's state at this instant. Does not judge times while the clock is unset.
    package func sessionState(at instant: Instant) -> SessionState {
        life(at: instant).state
    }

    /// The session's state as stored in the vault, before any event.
    static func life(of records: BoardRecords) -> SessionLife {
        if records.isUnreadable { return SessionLife.unclaimed.after(.unreadable) }
        if records.session != nil { return SessionLife.unclaimed.after(.restored) }
        let end = records.memory.ended.flatMap { SessionEnd(rawValue: $0.rawValue) }
        return end.map { SessionLife.unclaimed.after(.ended($0)) } ?? .unclaimed
    }

    /// The session's state with expiry and offline grace applied.
    func life(at instant: Instant) -> SessionLife {
        guard let held = records.session else { return session.life }
        let judges = !clock.isUnset(at: instant)
        let now = clock.now(at: instant)
        let isExpired = judges && held.session.expiresAt.map { $0 <= now } ?? false
        let isGraceOver = judges && held.graceEnds(own: settings.offline) <= now
        return session.life.after(isExpired ? .expiryReached : .expiryUnreached)
            .after(isGraceOver ? .graceEnded : .graceRegained)
    }

    /// Records an answer of the authority. Computes the state first, because the answer may have
    /// corrected the clock.
    mutating func heardFromAuthority(at instant: Instant) {
        session.set(life(at: instant).after(.contact))
    }

    /// The monotonic time at which the session's state may change by itself.
    func sessionDeadline(at instant: Instant) -> Duration? {
        guard let held = records.session, !clock.isUnset(at: instant) else { return nil }
        let now = clock.now(at: instant)
        let ends = [held.session.expiresAt, held.graceEnds(own: settings.offline)]
            .compactMap(\.self).filter { $0 > now }.min()
        // One day at most, so that nothing overflows. The deadline is then computed again.
        return ends.map { instant.monotonic + min($0 - now, .seconds(86_400)) }
    }

    /// Publishes `postern/session` and the board's status if they have changed.
    mutating func publishSessionIfChanged(at instant: Instant) {
        session.set(life(at: instant))
        let state = session.life.state
        let notice: SessionNotice.State
        if case .available = state, let held = records.session {
            notice = .available(held.session, validatedAt: held.lastContact)
        } else if case .unavailable(let reason) = state {
            notice = .unavailable(reason)
        } else {
            return
        }
        guard session.publish(notice) else { return }
        let payload = SessionNotice(notice, isFinal: session.life.isFinal).payload
        emit(.publishBus(BusPublication(
            topic: BusTopic.session, payload: payload, retain: true)))
        bus.health.changed()
        if uplink.isReady {
            publishStatus(up: true, at: instant)
            steerForwarding(at: instant)
        }
    }

    /// Ends a session, for every cause. Destroys the tokens, and keeps and holds the queue.
    /// `changes` become durable in the same commit.
    mutating func endSession(
        _ end: SessionEnd, with changes: [RecordChange] = [], at instant: Instant
    ) {
        guard records.session != nil || records.isUnreadable else { return }
        records.session = nil
        records.isUnreadable = false
        records.memory.ended = end.reason
        session.take(.ended(end))
        readersGetWhatThereIs(at: instant)
        requests.forgetAll()
        rules.setScope(nil)
        emit(.commit(
            changes + [.session(nil), .memory(records.memory)] + forgetCommands()))
        emit(.log(.warning, "the session has ended (\(end.rawValue)): \(end.help)"))
        abandonUplink(at: instant)
        publishSessionIfChanged(at: instant)
        failed([.heartbeat, .refresh], .over, at: instant)
    }

    /// Allows forwarding while the session is available. The store sends no records of another
    /// user.
    mutating func steerForwarding(at instant: Instant) {
        let user = sessionState(at: instant) == .available ? records.session?.user.objectID : nil
        if uplink.isReady, user != nil { tellGrants() }
        emit(.forward(user: uplink.isReady ? user : nil))
    }
}

extension HeldSession {
    /// When the session stops without contact: the earlier of the authority's grace and the
    /// board's own.
    func graceEnds(own: Duration?) -> Timestamp { lastContact + grace(own: own) }

    /// How long the session lasts without contact.
    func grace(own: Duration?) -> Duration { min(offline, own ?? offline) }
}

extension SessionEnd {
    /// The next step for the board's owner.
    package var help: String {
        switch self {
        case .expired:
            "its owner renews it on the board's page or with `postern boards renew`; else run "
                + "`sudo postern-agent pair` and claim this board again"
        case .revoked, .signedOut, .reuse:
            "run `sudo postern-agent pair` and claim this board again"
        }
    }
}
