import Gate
import Sessions
import Wire

/// The agent's view of the board's own bus.
struct Bus: Sendable {
    var isConnected = false
    var isReading = true
    var healthIsStale = true
    /// When the health topic was last written.
    var healthAt: Duration?
    private(set) var window: RedeliveryWindow

    init(window: [DeliveredPacket]) { self.window = RedeliveryWindow(window) }

    mutating func lost() {
        isConnected = false
        window.restart()
    }

    mutating func count() { window.count() }
    mutating func endRedeliveries() { window.endRedeliveries() }

    mutating func isRedelivery(_ packetID: UInt16, _ digest: UInt128) -> DeliveredPacket? {
        window.take(packetID, digest)
    }

    mutating func remember(_ packet: DeliveredPacket) { window.remember(packet) }
    mutating func forgetWindow() { window = RedeliveryWindow([]) }
}

/// What one batch of the bus comes to.
private struct Batch {
    var writes: [AcceptedWrite] = []
    var window: [DeliveredPacket] = []
    var answers: [BusPublication] = []
}

extension Agent {
    mutating func busConnected(resumed: Bool, at instant: Instant) {
        bus.isConnected = true
        bus.healthIsStale = true
        bus.healthAt = nil
        // A retained message of an earlier life may stand there: say what is so, once more.
        published = nil
        bus.endRedeliveries()
        guard !resumed, !bus.window.isEmpty else { return }
        // The broker has forgotten what it delivered: its packet ids begin anew.
        bus.forgetWindow()
        emit(.commit([.clearWindow]))
    }

    /// Judges a batch. The commit comes first, then the answers; the loop acknowledges the
    /// batch to the broker after both.
    mutating func judge(_ messages: [BusMessage], at instant: Instant) {
        var batch = Batch()
        let state = sessionState(at: instant)
        for message in messages {
            if message.packetID != nil { bus.count() }
            if !message.isRetained { judge(message, state, into: &batch, at: instant) }
        }
        if !batch.writes.isEmpty {
            emit(.commit([.append(batch.writes, window: batch.window)]))
        }
        for answer in batch.answers { emit(.publishBus(answer)) }
    }

    private mutating func judge(
        _ message: BusMessage, _ state: SessionState, into batch: inout Batch,
        at instant: Instant
    ) {
        switch BusRequest(message.topic) {
        case .write(let app, let path):
            judge(message, app, path, state, into: &batch, at: instant)
        case .read(let app, let query):
            if query == .sessions, case .available = state,
                waitsForSessions(message, app, at: instant)
            { return }
            answer(query, to: message, from: app, state, into: &batch)
        case .malformed(let app, let refusal):
            guard let app else { return countUntold(.builtin(.topic)) }
            reject(message, app, refusal, into: &batch, at: instant)
        case nil:
            judgeRouted(message, state, into: &batch, at: instant)
        }
    }

    /// Another program's topic: a write of the class that the first matching route names.
    /// Only its refusal is said, to the app that the route stands for.
    private mutating func judgeRouted(
        _ message: BusMessage, _ state: SessionState, into batch: inout Batch,
        at instant: Instant
    ) {
        guard case .write(let routed) = routes.entry(of: message.topic),
            let path = RecordPath(
                className: routed.className, operation: routed.operation, record: routed.record)
        else { return }
        let unasked = BusMessage(
            topic: message.topic, payload: message.payload, isRetained: false,
            packetID: message.packetID, responseTopic: nil, correlation: nil)
        judge(unasked, routed.app, path, state, into: &batch, at: instant)
    }

    private mutating func judge(
        _ message: BusMessage, _ app: AppName, _ path: RecordPath, _ state: SessionState,
        into batch: inout Batch, at instant: Instant
    ) {
        let digest = deliveryDigest(of: message)
        if let digest, let packetID = message.packetID,
            let known = bus.isRedelivery(packetID, digest)
        {
            // It was accepted and is durable, whatever the rules say by now.
            answer(message, app, AcceptedNotice.payload(sequence: known.sequence), into: &batch)
        } else if let rejection = rejection(of: message, app, path, state, at: instant) {
            reject(message, app, rejection, path, into: &batch, at: instant)
        } else {
            accept(message, app, path, digest, into: &batch, at: instant)
        }
    }

    private mutating func rejection(
        of message: BusMessage, _ app: AppName, _ path: RecordPath, _ state: SessionState,
        at instant: Instant
    ) -> Rejection? {
        // Past the offline grace the bus is not read: what was on its way is kept, not lost.
        if case .unavailable(let reason) = state, reason != .offline {
            let text = reason == .unclaimed
                ? "this board is not provisioned" : "this board's session is over"
            return Rejection(code: reason.code, rule: .builtin(.session), reason: text)
        }
        let write = Write(
            app: app, className: path.className, operation: path.operation,
            payload: message.payload)
        switch gate.decide(write) {
        case .allow: return limiter.admit(app, gate.rates(of: write), at: instant.monotonic)
        case .deny(let rejection): return rejection
        }
    }

    private mutating func accept(
        _ message: BusMessage, _ app: AppName, _ path: RecordPath, _ digest: UInt128?,
        into batch: inout Batch, at instant: Instant
    ) {
        guard let held = records.session else { return }
        records.lastSequence += 1
        let sequence = records.lastSequence
        let board = records.identity.installation
        batch.writes.append(AcceptedWrite(
            sequence: sequence, session: held.session.objectID, user: held.user.objectID,
            acceptedAt: clock.now(at: instant), app: app, className: path.className,
            topic: ContractTopic.data(board, path).text(under: settings.topicRoot),
            payload: message.payload))
        if let packetID = message.packetID, let digest {
            let packet = DeliveredPacket(packetID: packetID, digest: digest, sequence: sequence)
            batch.window.append(packet)
            bus.remember(packet)
        }
        answer(message, app, AcceptedNotice.payload(sequence: sequence), into: &batch)
    }

    private func deliveryDigest(of message: BusMessage) -> UInt128? {
        guard message.packetID != nil else { return nil }
        let bytes = Array(message.topic.utf8) + [0] + message.payload
        return (try? cryptography.digest(bytes))?.prefix(16).reduce(0) { $0 << 8 | UInt128($1) }
    }

    private mutating func reject(
        _ message: BusMessage, _ app: AppName, _ rejection: Rejection, _ path: RecordPath?,
        into batch: inout Batch, at instant: Instant
    ) {
        let notice = RejectionNotice(
            code: rejection.code.rawValue, error: rejection.reason,
            rule: rejection.rule.description, className: path?.className.description ?? "",
            operation: path?.operation.rawValue ?? "", topic: message.topic,
            field: rejection.field)
        let answer = tellRefusal(message, of: app, rejection.rule, notice, at: instant)
        if let answer { batch.answers.append(answer) }
    }

    /// A topic of the agent's that names something malformed: its app is told what it wrote.
    private mutating func reject(
        _ message: BusMessage, _ app: AppName, _ refusal: Refusal, into batch: inout Batch,
        at instant: Instant
    ) {
        let rule = RuleID.builtin(.topic)
        let stated = BusTopic.stated(in: message.topic)
        let notice = RejectionNotice(
            code: refusal.code, error: refusal.text, rule: rule.description,
            className: stated.className, operation: stated.operation, topic: message.topic)
        let answer = tellRefusal(message, of: app, rule, notice, at: instant)
        if let answer { batch.answers.append(answer) }
    }

    private func answer(
        _ message: BusMessage, _ app: AppName, _ payload: [UInt8], into batch: inout Batch
    ) {
        guard let topic = message.responseTopic, BusTopic.isResponse(topic, for: app) else {
            return
        }
        batch.answers.append(BusPublication(
            topic: topic, payload: payload, retain: false, correlation: message.correlation))
    }

    /// Answers a read from what is cached; a token is never part of it.
    private func answer(
        _ query: BusQuery, to message: BusMessage, from app: AppName, _ state: SessionState,
        into batch: inout Batch
    ) {
        guard case .available = state, let held = records.session else {
            let code = if case .unavailable(let reason) = state { reason.code } else {
                ErrorCode.sessionMissing
            }
            answer(message, app, Refusal(code, "there is no session").json.bytes, into: &batch)
            return
        }
        let result: JSONValue = switch query {
        case .session: held.session.json
        case .user: held.user.json
        case .sessions: .array(held.knownSessions.map(\.json))
        }
        answer(message, app, result.bytes, into: &batch)
    }
}
