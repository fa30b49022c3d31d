import Sessions
import Wire

/// The board's requests that wait for an answer, and when the next ones are due.
struct Requests: Sendable {
    enum Kind: Sendable { case authenticate, refresh }

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
            guard let sent = sentUnder else { return false }
            let isOff = sent.upperBound < time - Self.tolerance
                || sent.lowerBound > time + Self.tolerance
            return !(isOff && isRecent(at: now))
        }

        /// How far off a request's time may be. Source: the wire contract, The clock.
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
    /// Nothing is refreshed before; nil: no refresh was answered yet.
    var refreshNotBefore: Duration?

    var nextDeadline: Duration? {
        guard isActive else { return nil }
        let due = [heartbeatAt, isPending(.refresh) ? nil : refreshAt] + pending.map(\.nextTry)
        return due.compactMap(\.self).min()
    }

    func isPending(_ kind: Kind) -> Bool { pending.contains { $0.kind == kind } }

    /// Remembers a request that is being sent; it is repeated after 10 s, backing off.
    /// `isNew`: no earlier process and no earlier connection can have sent it.
    mutating func add(_ id: MessageID, _ kind: Kind, isNew: Bool, at now: Duration) {
        let known = find(id)
        pending.removeAll { $0.kind == kind }
        pending.append(Pending(
            id: id, kind: kind, nextTry: now + .seconds(10),
            backoff: Backoff(first: .seconds(20), limit: .seconds(300)),
            firstSent: isNew ? now : known?.firstSent, sentUnder: known?.sentUnder))
    }

    mutating func sent(_ id: MessageID, under time: Timestamp) {
        for index in pending.indices where pending[index].id == id {
            let sent = pending[index].sentUnder ?? time...time
            pending[index].sentUnder
                = min(sent.lowerBound, time)...max(sent.upperBound, time)
        }
    }

    func find(_ id: MessageID) -> Pending? { pending.first { $0.id == id } }
    mutating func finish(_ id: MessageID) { pending.removeAll { $0.id == id } }

    /// The requests to repeat now; their next try is put off.
    mutating func due(at now: Duration, random: UInt8) -> [Pending] {
        var due: [Pending] = []
        for index in pending.indices where pending[index].nextTry <= now {
            pending[index].nextTry = now + pending[index].backoff.next(random: random)
            due.append(pending[index])
        }
        return due
    }

    mutating func resume() {
        isActive = true
        pending.removeAll { $0.kind == .authenticate }
    }

    mutating func pause() { isActive = false }

    mutating func forgetAll() {
        pending.removeAll()
        heartbeatAt = nil
        refreshAt = nil
        clockCorrections = 0
        hasAskedForKeys = false
        refreshNotBefore = nil
    }
}

extension Agent {
    /// After each connect and provisioning: validates the session, and finishes a refresh
    /// that was begun, under the id it was begun with.
    mutating func startRequests(at instant: Instant) {
        guard uplink.isReady, let held = records.session else { return }
        requests.resume()
        authenticate(at: instant)
        if let id = held.pendingRefresh {
            requests.add(id, .refresh, isNew: false, at: instant.monotonic)
            transmit(id, .refresh, at: instant)
        }
        planRefresh(at: instant)
    }

    mutating func sendDueRequests(at instant: Instant) {
        guard uplink.isReady, requests.isActive, records.session != nil else { return }
        if let due = requests.heartbeatAt, due <= instant.monotonic { authenticate(at: instant) }
        if let due = requests.refreshAt, due <= instant.monotonic, !requests.isPending(.refresh) {
            refresh(at: instant)
        }
        for request in requests.due(at: instant.monotonic, random: randomByte()) {
            transmit(request.id, request.kind, at: instant)
        }
    }

    private mutating func authenticate(at instant: Instant) {
        requests.heartbeatAt = nil
        guard !requests.isPending(.authenticate), let id = freshID() else { return }
        requests.add(id, .authenticate, isNew: true, at: instant.monotonic)
        transmit(id, .authenticate, at: instant)
    }

    /// Begins a refresh. Its id is durable before the request is sent, so that whatever
    /// happens, the same request can be made again. One that was refused goes on under its id:
    /// the refusal may be older than an answer that was lost.
    private mutating func refresh(at instant: Instant) {
        requests.refreshAt = nil
        guard var held = records.session else { return }
        if let id = held.pendingRefresh {
            requests.add(id, .refresh, isNew: false, at: instant.monotonic)
            transmit(id, .refresh, at: instant)
            return
        }
        guard let id = freshID() else { return }
        held.pendingRefresh = id
        records.session = held
        requests.add(id, .refresh, isNew: true, at: instant.monotonic)
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
            send(.authenticate(held.tokens.session, durationMinutes: nil), id: id, at: instant)
        case .refresh:
            send(.refresh(held.tokens.refresh), id: id, at: instant)
        }
    }

    /// Seals to the pinned authority, or to `key`, and sends.
    mutating func send(
        _ body: BoardMessage.Body, id: MessageID? = nil, to key: [UInt8]? = nil,
        at instant: Instant
    ) {
        guard let key = key ?? records.trust?.authority.sealKey, let id = id ?? freshID() else {
            return
        }
        let message = BoardMessage(
            id: id, issuedAt: clock.now(at: instant), clockUnset: clock.isUnset(at: instant),
            body: body)
        let topic = ContractTopic.outbox(records.identity.installation)
            .text(under: settings.topicRoot)
        do throws(CryptographyFailure) {
            let envelope = try cryptography.seal(
                message.plaintext, to: key, from: records.identity.deviceSecret, topic: topic)
            emit(.send(topic: topic, payload: envelope.payload))
        } catch {
            emit(.log(.error, "a message to the authority could not be sealed"))
        }
    }

    /// A refresh is due when a third of the access token's life is left, and within a minute
    /// where its key is pinned no longer; never at once after the last.
    mutating func planRefresh(at instant: Instant) {
        // What was begun is repeated, or waits for its turn after a refusal.
        guard let held = records.session, held.pendingRefresh == nil else { return }
        let planned = requests.refreshAt
        requests.refreshAt = nil
        guard let trust = records.trust, !clock.isUnset(at: instant) else { return }
        let earliest = requests.refreshNotBefore ?? .zero
        do throws(CryptographyFailure) {
            let claims = try cryptography.verify(
                held.tokens.access, keys: trust.authority.signKeys)
            let life = claims.expiresAt - claims.issuedAt
            let due = claims.expiresAt - life / 3
            let wait = max(due - clock.now(at: instant), .zero)
            requests.refreshAt = max(instant.monotonic + min(wait, .seconds(86_400)), earliest)
        } catch {
            let soon = instant.monotonic + .seconds(60)
            requests.refreshAt = max(min(planned ?? soon, soon), earliest)
        }
    }

    mutating func planHeartbeat(at instant: Instant) {
        guard let held = records.session else { return }
        let spread = 0.9 + 0.2 * Double(randomByte()) / 255
        requests.heartbeatAt = instant.monotonic + held.heartbeat * spread
    }
}
