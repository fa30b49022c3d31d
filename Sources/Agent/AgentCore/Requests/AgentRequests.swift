import Sessions
import Wire

extension Agent {
    /// Runs after each connect and provisioning. Validates the session, and repeats an open
    /// refresh under its id. Requests that can wait are delayed at random, because a whole fleet
    /// may come back at once.
    mutating func startRequests(after arrival: RequestStart, at instant: Instant) {
        guard uplink.isReady, let held = records.session else { return }
        requests.resume()
        rules.news.connected()
        // A board with a shared identity reports at once, because its connection may be short.
        if arrival == .again, !uplink.isShared, heartbeatMayWait(held, at: instant) {
            let span = min(heartbeatInterval(of: held), .seconds(30))
            requests.setHeartbeat(due: instant.monotonic + span * randomShare())
        } else {
            beginHeartbeat(at: instant)
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
        if let due = requests.heartbeatAt, due <= instant.monotonic { beginHeartbeat(at: instant) }
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
            !requests.waits.areAwaiting(.heartbeat)
        else { return false }
        return clock.now(at: instant) - held.lastContact < heartbeatInterval(of: held)
    }

    mutating func listSessions(at instant: Instant) {
        guard !requests.isPending(.list), let id = freshID() else { return }
        begin(id, .list, at: instant)
    }

    /// Begins a heartbeat (`session.authenticate`), unless one waits for its answer.
    mutating func beginHeartbeat(at instant: Instant) {
        requests.setHeartbeat(due: nil)
        guard !requests.isPending(.authenticate), let id = freshID() else { return }
        begin(id, .authenticate, at: instant)
    }

    /// Begins a new heartbeat in place of the one that waits for its answer. That answer may have
    /// been sealed before the update that was just taken, and would undo it.
    mutating func replaceHeartbeat(at instant: Instant) {
        guard let open = requests.pending.first(where: { $0.kind == .authenticate }) else { return }
        requests.finish(open.id)
        if uplink.isReady { beginHeartbeat(at: instant) }
    }

    /// Begins a refresh. Its id is durable before the request is sent, so that the same request
    /// can always be repeated. A refused refresh keeps its id, because the refusal may be older
    /// than a lost answer.
    private mutating func refresh(at instant: Instant) {
        requests.setRefresh(due: nil)
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
        requests.sent(id, under: clock.isUnset(at: instant) ? nil : clock.now(at: instant))
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
        case .saveConfiguration:
            let rules = backup.sent?.configuration ?? backup.wanted
            send(.saveConfiguration(held.tokens.session, rules), id: id, at: instant)
        case .getConfiguration:
            send(.getConfiguration(held.tokens.session), id: id, at: instant)
        }
    }

    /// Sends a new request, to be repeated until it is answered.
    mutating func begin(_ id: MessageID, _ kind: Requests.Kind, at instant: Instant) {
        remember(id, kind, isNew: true, at: instant)
        transmit(id, kind, at: instant)
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
