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
        /// When this process first sent the request. Nil: an earlier process may have sent it.
        let firstSent: Duration?
        /// The earliest and latest issue time of the request, as sent with the clock set.
        var sentUnder: ClosedRange<Timestamp>?

        /// Whether any reply to this request is less than a minute old.
        func isRecent(at now: Duration) -> Bool {
            firstSent.map { now - $0 < .seconds(60) } ?? false
        }

        /// Whether the authority may have acted on the request before, although it now answers
        /// that the clock is wrong. Such an answer may be old and delayed.
        func mayHaveCounted(now time: Timestamp, at now: Duration) -> Bool {
            guard firstSent != nil else { return true }
            guard sentUnder != nil else { return false }
            return !(wasOff(by: time) && isRecent(at: now))
        }

        /// Whether the request's issue time explains why the authority found the clock wrong.
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
    /// How many times in a row the authority has found the clock wrong.
    var clockCorrections = 0
    /// Whether the agent has requested the authority's keys, because a refreshed token could not
    /// be verified.
    var hasAskedForKeys = false
    /// A refreshed token whose key is not pinned. It is verified again when new keys arrive, so
    /// that it needs no second rotation.
    var unverified: AccessToken?
    /// How many refreshes in a row have returned a token that is not valid.
    var badRefreshes = 0
    /// When the last answer about the user's sessions arrived.
    var listedAt: Duration?
    /// The number of minutes for which the next heartbeat extends the session, counted from now.
    var minutes: Int64?
    /// The kinds of requests that an authority, restored from a backup, answered with "never
    /// issued".
    var notIssued: Set<Kind> = []
    /// The backoff after a refresh of a session that the authority never issued. The next granted
    /// refresh resets it.
    private var refreshPause = Self.firstRefreshPause
    private static let firstRefreshPause = Backoff(first: .seconds(300), limit: .seconds(3600))
    /// The earliest time of the next refresh. Nil: no refresh was answered yet.
    var refreshNotBefore: Duration?

    var nextDeadline: Duration? {
        guard isActive else { return nil }
        let due = [heartbeatAt, isPending(.refresh) ? nil : refreshAt] + pending.map(\.nextTry)
        return due.compactMap(\.self).min()
    }

    func isPending(_ kind: Kind) -> Bool { pending.contains { $0.kind == kind } }

    /// Remembers a request that is being sent. It is repeated after `wait`, then by `backoff`.
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

    /// Makes the next heartbeat a new one, which extends the session to this many minutes from
    /// now.
    mutating func extendNext(by minutes: Int64) {
        self.minutes = minutes
        pending.removeAll { $0.kind == .authenticate }
    }

    /// Records that a request was granted.
    mutating func granted(_ kind: Kind) {
        notIssued.remove(kind)
        if kind == .refresh { refreshPause = Self.firstRefreshPause }
    }

    /// The wait after a refused refresh. It grows each time, because a person must pair the board
    /// again.
    mutating func pauseOfRefresh() -> Duration { refreshPause.next(share: 0) }

    func find(_ id: MessageID) -> Pending? { pending.first { $0.id == id } }
    mutating func finish(_ id: MessageID) { pending.removeAll { $0.id == id } }

    func areDue(at now: Duration) -> Bool { pending.contains { $0.nextTry <= now } }

    /// Returns the requests to repeat now, and sets their next try. `share` is a random number
    /// from 0 to 1.
    mutating func due(at now: Duration, share: Double, spread: Duration) -> [Pending] {
        var due: [Pending] = []
        for index in pending.indices where pending[index].nextTry <= now {
            let wait = pending[index].backoff.next(share: share) + spread
            pending[index].nextTry = now + wait
            due.append(pending[index])
        }
        return due
    }

    /// Repeats all open requests now under their ids, because a person waits. Their backoff
    /// starts again.
    mutating func hasten(at now: Duration) {
        for index in pending.indices where pending[index].kind != .list {
            pending[index].nextTry = now
            pending[index].backoff.reset()
        }
    }

    /// Repeats the request no earlier than `time`.
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
    /// Runs after each connect and provisioning. Validates the session, and repeats an open
    /// refresh under its id. Requests that can wait are delayed at random, because a whole fleet
    /// may come back at once.
    mutating func startRequests(after arrival: Arrival, at instant: Instant) {
        guard uplink.isReady, let held = records.session else { return }
        requests.resume()
        rules.news.connected()
        // A board with a shared identity reports at once, because its connection may be short.
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

    /// Whether the last contact is recent enough, so that the heartbeat can wait.
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

    /// Begins a refresh. Its id is durable before the request is sent, so that the same request
    /// can always be repeated. A refused refresh keeps its id, because the refusal may be older
    /// than a lost answer.
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

    /// Seals a message to the pinned authority, or to `key`, and sends it.
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
