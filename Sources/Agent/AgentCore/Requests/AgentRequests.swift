import Sessions
import Wire

/// The board's requests that wait for an answer, and when the next ones are due.
struct Requests: Sendable {
    enum Kind: Sendable { case authenticate, refresh, list }

    struct Pending: Sendable {
        let id: MessageID
        let kind: Kind
        var nextTry: Duration
        var backoff: Backoff
        /// When this process first sent it; nil: an earlier one may have.
        let firstSent: Duration?
        /// The earliest and latest time it was sent under, with the clock set.
        var sentUnder: ClosedRange<Timestamp>?

        /// Whether a reply to it can be no older than a minute.
        func isRecent(at now: Duration) -> Bool {
            firstSent.map { now - $0 < .seconds(60) } ?? false
        }

        /// Whether the authority may have acted on it once, although it now answers that the
        /// clock is off: such an answer may be old and withheld.
        func mayHaveCounted(now time: Timestamp, at now: Duration) -> Bool {
            guard firstSent != nil else { return true }
            guard sentUnder != nil else { return false }
            return !(wasOff(by: time) && isRecent(at: now))
        }

        /// Whether the time it was sent under explains that the authority found it off.
        func wasOff(by time: Timestamp) -> Bool {
            guard let sent = sentUnder else { return true }
            return sent.upperBound < time - Self.tolerance
                || sent.lowerBound > time + Self.tolerance
        }

        /// How far off a request's time may be. Source: the wire contract, Time and the clock.
        private static let tolerance = Duration.seconds(300)
    }

    private(set) var pending: [Pending] = []
    var heartbeatAt: Duration?
    var refreshAt: Duration?
    /// False while the uplink is down: nothing is due then.
    private(set) var isActive = false
    /// How often in a row the authority has found the clock off.
    var clockCorrections = 0
    /// A refresh's token could not be verified, and the authority was asked for its keys.
    var hasAskedForKeys = false
    /// That token, where it names a key that is not pinned: it is looked at again with the
    /// keys that come, so that no second rotation is needed for it.
    var unverified: AccessToken?
    /// How many refreshes in a row have brought a token that is not good.
    var badRefreshes = 0
    /// When the user's sessions were last heard of.
    var listedAt: Duration?
    /// How many minutes from now the next heartbeat asks the session to last.
    var minutes: Int64?
    /// What the authority, after a backup of it was restored, says it never issued.
    var notIssued: Set<Kind> = []
    /// The pause after a refresh that was not issued there; back to the first with the next
    /// that is answered.
    private var refreshPause = Self.firstRefreshPause
    private static let firstRefreshPause = Backoff(first: .seconds(300), limit: .seconds(3600))
    /// Nothing is refreshed before; nil: no refresh was answered yet.
    var refreshNotBefore: Duration?

    var nextDeadline: Duration? {
        guard isActive else { return nil }
        let due = [heartbeatAt, isPending(.refresh) ? nil : refreshAt] + pending.map(\.nextTry)
        return due.compactMap(\.self).min()
    }

    func isPending(_ kind: Kind) -> Bool { pending.contains { $0.kind == kind } }

    /// Remembers a request that is being sent; it is repeated after `wait`, then by `backoff`.
    /// `isNew`: no earlier process and no earlier connection can have sent it.
    mutating func add(
        _ id: MessageID, _ kind: Kind, isNew: Bool, wait: Duration, backoff: Backoff,
        at now: Duration
    ) {
        let known = find(id)
        pending.removeAll { $0.kind == kind }
        pending.append(Pending(
            id: id, kind: kind, nextTry: now + wait, backoff: backoff,
            firstSent: isNew ? now : known?.firstSent, sentUnder: known?.sentUnder))
    }

    mutating func sent(_ id: MessageID, under time: Timestamp) {
        for index in pending.indices where pending[index].id == id {
            let sent = pending[index].sentUnder ?? time...time
            pending[index].sentUnder
                = min(sent.lowerBound, time)...max(sent.upperBound, time)
        }
    }

    /// The next heartbeat is a new one, that asks the session to last so long from now.
    mutating func extendNext(by minutes: Int64) {
        self.minutes = minutes
        pending.removeAll { $0.kind == .authenticate }
    }

    /// A request was answered with its result.
    mutating func granted(_ kind: Kind) {
        notIssued.remove(kind)
        if kind == .refresh { refreshPause = Self.firstRefreshPause }
    }

    /// How long a refused refresh waits: a person must pair the board anew, so ever longer.
    mutating func pauseOfRefresh() -> Duration { refreshPause.next(share: 0) }

    func find(_ id: MessageID) -> Pending? { pending.first { $0.id == id } }
    mutating func finish(_ id: MessageID) { pending.removeAll { $0.id == id } }

    func areDue(at now: Duration) -> Bool { pending.contains { $0.nextTry <= now } }

    /// The requests to repeat now; their next try is put off. `share` is drawn from 0 to 1.
    mutating func due(at now: Duration, share: Double, spread: Duration) -> [Pending] {
        var due: [Pending] = []
        for index in pending.indices where pending[index].nextTry <= now {
            let wait = pending[index].backoff.next(share: share) + spread
            pending[index].nextTry = now + wait
            due.append(pending[index])
        }
        return due
    }

    /// Somebody waits: what is not answered yet is asked again now, under its id, and patiently
    /// from then on.
    mutating func hasten(at now: Duration) {
        for index in pending.indices where pending[index].kind != .list {
            pending[index].nextTry = now
            pending[index].backoff.reset()
        }
    }

    /// The same request is made again no sooner than then.
    mutating func putOff(_ id: MessageID, until time: Duration) {
        for index in pending.indices where pending[index].id == id {
            pending[index].nextTry = time
        }
    }

    mutating func resume() {
        isActive = true
        pending.removeAll { $0.kind != .refresh }
    }

    mutating func pause() { isActive = false }

    mutating func forgetAll() {
        pending.removeAll()
        heartbeatAt = nil
        refreshAt = nil
        clockCorrections = 0
        minutes = nil
        hasAskedForKeys = false
        unverified = nil
        badRefreshes = 0
        listedAt = nil
        refreshNotBefore = nil
        notIssued = []
        refreshPause = Self.firstRefreshPause
    }
}

extension Agent {
    /// After each connect and provisioning: validates the session, and finishes a refresh
    /// that was begun, under the id it was begun with. A fleet that comes back together is
    /// spread: nothing is asked at once that can wait a moment.
    mutating func startRequests(after arrival: Arrival, at instant: Instant) {
        guard uplink.isReady, let held = records.session else { return }
        requests.resume()
        rulesNews.connected()
        // A board whose identity is shared tells so in the moments that it has.
        if arrival == .again, !uplink.isShared, heartbeatMayWait(held, at: instant) {
            let span = min(heartbeatInterval(of: held), .seconds(30))
            requests.heartbeatAt = instant.monotonic + span * randomShare()
        } else {
            authenticate(at: instant)
        }
        if let id = held.pendingRefresh {
            remember(id, .refresh, isNew: false, at: instant)
            transmit(id, .refresh, at: instant)
        }
        planRefresh(after: arrival, at: instant)
        renewIfAwaited(at: instant)
    }

    mutating func sendDueRequests(at instant: Instant) {
        guard uplink.isReady, requests.isActive, records.session != nil else { return }
        forgetTakeovers(at: instant)
        if let due = requests.heartbeatAt, due <= instant.monotonic { authenticate(at: instant) }
        if let due = requests.refreshAt, due <= instant.monotonic, !requests.isPending(.refresh) {
            refresh(at: instant)
        }
        guard requests.areDue(at: instant.monotonic) else { return }
        let (share, spread) = (randomShare(), spread * randomShare())
        for request in requests.due(at: instant.monotonic, share: share, spread: spread) {
            transmit(request.id, request.kind, at: instant)
        }
    }

    /// Whether the authority was heard so lately that nothing hangs on hearing it at once.
    private func heartbeatMayWait(_ held: HeldSession, at instant: Instant) -> Bool {
        guard records.trust?.isAcknowledged == true, held.pendingRefresh == nil,
            uplink.hold != .forbidden,
            case .available = sessionState(at: instant), !clock.isUnset(at: instant),
            !waits.areAwaiting(.heartbeat)
        else { return false }
        return clock.now(at: instant) - held.lastContact < heartbeatInterval(of: held)
    }

    mutating func listSessions(at instant: Instant) {
        guard !requests.isPending(.list), let id = freshID() else { return }
        remember(id, .list, isNew: true, at: instant)
        transmit(id, .list, at: instant)
    }

    mutating func authenticate(at instant: Instant) {
        requests.heartbeatAt = nil
        guard !requests.isPending(.authenticate), let id = freshID() else { return }
        remember(id, .authenticate, isNew: true, at: instant)
        transmit(id, .authenticate, at: instant)
    }

    /// Begins a refresh. Its id is durable before the request is sent, so that whatever
    /// happens, the same request can be made again. One that was refused goes on under its id:
    /// the refusal may be older than an answer that was lost.
    private mutating func refresh(at instant: Instant) {
        requests.refreshAt = nil
        guard var held = records.session else { return }
        if let id = held.pendingRefresh {
            remember(id, .refresh, isNew: false, at: instant)
            transmit(id, .refresh, at: instant)
            return
        }
        guard let id = freshID() else { return }
        held.pendingRefresh = id
        records.session = held
        remember(id, .refresh, isNew: true, at: instant)
        emit(.commit([.session(held)]))
        transmit(id, .refresh, at: instant)
    }

    private mutating func transmit(
        _ id: MessageID, _ kind: Requests.Kind, at instant: Instant
    ) {
        guard let held = records.session else { return }
        if !clock.isUnset(at: instant) { requests.sent(id, under: clock.now(at: instant)) }
        switch kind {
        case .authenticate:
            let heartbeat = BoardMessage.Body.authenticate(
                held.tokens.session, durationMinutes: requests.minutes,
                report: report(by: id, at: instant))
            send(heartbeat, id: id, at: instant)
        case .refresh:
            send(.refresh(held.tokens.refresh), id: id, at: instant)
        case .list:
            send(.list(held.tokens.session), id: id, at: instant)
        }
    }

    var outboxTopic: String {
        ContractTopic.outbox(records.identity.installation).text(under: settings.topicRoot)
    }

    /// Seals to the pinned authority, or to `key`, and sends.
    mutating func send(
        _ body: BoardMessage.Body, id: MessageID? = nil, to key: [UInt8]? = nil, at instant: Instant
    ) {
        guard let key = key ?? records.trust?.authority.sealKey, let id = id ?? freshID()
        else { return }
        let message = BoardMessage(
            id: id, issuedAt: clock.now(at: instant),
            clockUnset: clock.isUnset(at: instant), body: body)
        do throws(CryptographyFailure) {
            let envelope = try cryptography.seal(
                message.plaintext, to: key, from: records.identity.deviceSecret,
                topic: outboxTopic)
            emit(.send(topic: outboxTopic, payload: envelope.payload))
        } catch {
            emit(.log(.error, "a message to the authority could not be sealed"))
        }
    }
}
