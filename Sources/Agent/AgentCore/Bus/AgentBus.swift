import Gate
import Sessions
import Wire

/// The result of judging one batch of the bus.
private struct Batch {
    var writes: [AcceptedWrite] = []
    var window: [DeliveredPacket] = []
    var keys: [KeptKey] = []
    var answers: [BusPublication] = []
    var lost: [Int64] = []
}

extension Agent {
    mutating func busConnected(resumed: Bool, at instant: Instant) {
        bus.connected()
        // The broker may hold a retained message of an earlier process: publish the current state
        // again.
        session.forgetPublished()
        tellHomeAssistant()
        // Held messages come again on the connection that ends the hold, so keep them for now.
        let gone = bus.isHolding && resumed ? [] : bus.endRedeliveries()
        if !gone.isEmpty { emit(.commit([.lose(gone)])) }
        guard !resumed, bus.hasWindow else { return }
        // The broker has lost its session, so its packet ids start again.
        bus.forgetWindow()
        emit(.commit([.clearWindow]))
    }

    /// Judges a batch. The commit comes first, then the answers. The loop acknowledges the batch
    /// to the broker after both.
    mutating func judge(_ messages: [BusMessage], at instant: Instant) {
        var batch = Batch()
        batch.writes.reserveCapacity(messages.count)
        batch.window.reserveCapacity(messages.count)
        session.set(life(at: instant))
        let state = session.life.state
        for message in messages {
            if message.packetID != nil { bus.count() }
            if !message.isRetained { judge(message, state, into: &batch, at: instant) }
        }
        if !batch.writes.isEmpty {
            emit(.commit([
                .append(batch.writes, window: batch.window, keys: batch.keys)
            ]))
        }
        if !batch.lost.isEmpty { emit(.commit([.lose(batch.lost)])) }
        for answer in batch.answers { emit(.publishBus(answer)) }
    }

    private mutating func judge(
        _ message: BusMessage, _ state: SessionState, into batch: inout Batch,
        at instant: Instant
    ) {
        let topic = read(message.topic)
        // The agent never answers a route's message on a topic that its sender names.
        let message = topic.isRequest ? message : message.unasked
        switch topic.reading {
        case .write(let write):
            judge(message, write, topic.upstream, state, into: &batch, at: instant)
        case .query(let app, let query):
            if query == .sessions, case .available = state,
                waitsForSessions(message, app, at: instant)
            { return }
            answer(query, to: message, from: app, state, into: &batch)
        case .refused(let app, let rejection):
            refuse(message, app, rejection, into: &batch, at: instant)
        case .ignored: break
        }
    }

    /// Refuses a message whose topic is no write. A redelivery that was accepted under an earlier
    /// route is ignored if it is durable. If it is not, its sequence number is lost.
    private mutating func refuse(
        _ message: BusMessage, _ app: AppName?, _ rejection: Rejection, into batch: inout Batch,
        at instant: Instant
    ) {
        if let known = redelivered(message) {
            guard !known.isDurable else { return }
            batch.lost.append(known.sequence)
        }
        guard let app else { return countUntold(rejection.rule) }
        let stated = rules.routes.stated(of: message.topic) ?? BusTopic.stated(in: message.topic)
        reject(message, app, rejection, stated, into: &batch, at: instant)
    }

    private mutating func read(_ topic: String) -> ReadTopic {
        if let known = rules.cachedReading(of: topic) { return known }
        let reading = TopicReading(topic, routes: rules.routes)
        var upstream: String?
        if case .write(let write) = reading { upstream = self.topic(of: write) }
        let read = ReadTopic(
            reading: reading, isRequest: BusTopic.isRequest(topic), upstream: upstream)
        rules.remember(read, of: topic)
        return read
    }

    private mutating func judge(
        _ message: BusMessage, _ write: NamedWrite, _ upstream: String?, _ state: SessionState,
        into batch: inout Batch, at instant: Instant
    ) {
        let digest = bus.deliveryDigest(of: message, with: cryptography)
        let known = redelivered(message, digest)
        let key = bus.keyDigest(of: message, from: write.app, with: cryptography)
        if let known, known.isDurable {
            // The write was accepted and is durable, even if the rules have changed since.
            confirm(known.sequence, message, write.app, into: &batch)
        } else if let first = key.flatMap({ bus.keys.sequence(of: $0, at: instant.monotonic) }) {
            // The app repeats a write, and the rules may have changed since, too.
            confirm(first, message, write.app, into: &batch)
            if let known, known.sequence != first { batch.lost.append(known.sequence) }
        } else if let rejection = rejection(of: message, write, state, at: instant)
            ?? lackOfRoom(for: message, of: write.app)
        {
            let stated = (write.operation.rawValue, write.className.description)
            reject(message, write.app, rejection, stated, into: &batch, at: instant)
            if let known { batch.lost.append(known.sequence) }
        } else {
            let sequence = accept(
                message, write, upstream, digest, as: known?.sequence, into: &batch, at: instant)
            if let key, let sequence { remember(key, sequence, into: &batch, at: instant) }
        }
    }

    private mutating func rejection(
        of message: BusMessage, _ write: NamedWrite, _ state: SessionState, at instant: Instant
    ) -> Rejection? {
        // After the offline grace the agent does not read the bus. It still accepts messages that
        // were already on their way.
        if case .unavailable(let reason) = state, reason != .offline {
            let text = reason == .unclaimed
                ? "this board is not provisioned" : "this board's session is over"
            return Rejection(code: reason.code, rule: .builtin(.session), reason: text)
        }
        if message.key == .malformed {
            return Rejection(
                code: .badKeyName, rule: .builtin(.key),
                reason: "the property `key` is given once, with 1 to 64 bytes")
        }
        return rules.rejection(of: write.with(message.payload), at: instant.monotonic)
    }

    /// `known` is the sequence number that the write received before a crash. Returns the number.
    private mutating func accept(
        _ message: BusMessage, _ write: NamedWrite, _ upstream: String?, _ digest: UInt128?,
        as known: Int64?, into batch: inout Batch, at instant: Instant
    ) -> Int64? {
        // Both are there: `rejection` refuses without a session, and each parsed write has a topic.
        guard let held = records.session, let upstream else { return nil }
        if known == nil { records.lastSequence += 1 }
        outbox.accept(bytes: Self.size(of: message))
        let sequence = known ?? records.lastSequence
        batch.writes.append(AcceptedWrite(
            sequence: sequence, session: held.session.objectID, user: held.user.objectID,
            acceptedAt: clock.now(at: instant), app: write.app, className: write.className,
            topic: upstream, payload: message.payload))
        if let packetID = message.packetID, let digest {
            let packet = DeliveredPacket(packetID: packetID, digest: digest, sequence: sequence)
            batch.window.append(packet)
            bus.remember(packet)
        }
        confirm(sequence, message, write.app, into: &batch)
        return sequence
    }

    private mutating func remember(
        _ key: UInt128, _ sequence: Int64, into batch: inout Batch, at instant: Instant
    ) {
        let kept = KeptKey(digest: key, sequence: sequence)
        batch.keys.append(kept)
        bus.remember(kept, at: instant.monotonic)
    }

    /// Confirms the write if its sender asked for an answer.
    private func confirm(
        _ sequence: Int64, _ message: BusMessage, _ app: AppName, into batch: inout Batch
    ) {
        guard message.responseTopic != nil else { return }
        answer(message, app, AcceptedNotice.payload(sequence: sequence), into: &batch)
    }

    /// The upstream topic of a write. Nil for a create with a record, or an update without one.
    /// No topic is parsed as such a write.
    private func topic(of write: NamedWrite) -> String? {
        if case .elsewhere(let topic) = write.destination { return topic }
        guard let path = RecordPath(
            className: write.className, operation: write.operation, record: write.record)
        else { return nil }
        var further: TopicSuffix?
        if case .behind(let levels) = write.destination { further = levels }
        return ContractTopic.data(records.identity.installation, path, further)
            .text(under: settings.topicRoot)
    }

    private mutating func redelivered(_ message: BusMessage) -> DeliveredPacket? {
        redelivered(message, bus.deliveryDigest(of: message, with: cryptography))
    }

    private mutating func redelivered(
        _ message: BusMessage, _ digest: UInt128?
    ) -> DeliveredPacket? {
        guard let digest, let packetID = message.packetID else { return nil }
        return bus.takeRedelivery(packetID, digest)
    }

    /// `stated` is the operation and the class from the topic or its route.
    private mutating func reject(
        _ message: BusMessage, _ app: AppName, _ rejection: Rejection,
        _ stated: (operation: String, className: String), into batch: inout Batch,
        at instant: Instant
    ) {
        let notice = RejectionNotice(
            code: rejection.code.rawValue, error: rejection.reason,
            rule: rejection.rule.description, className: stated.className,
            operation: stated.operation, topic: message.topic, field: rejection.field,
            isFinal: rejection.code == .invalidSession ? session.life.isFinal : nil)
        let answer = tellRefusal(message, of: app, rejection.rule, notice, at: instant)
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

    /// Answers a query from the cache. An answer never contains a token.
    private func answer(
        _ query: BusQuery, to message: BusMessage, from app: AppName, _ state: SessionState,
        into batch: inout Batch
    ) {
        guard case .available = state, let held = records.session else {
            let code = if case .unavailable(let reason) = state { reason.code } else {
                ErrorCode.sessionMissing
            }
            let refusal = Refusal(code, "there is no session").json
                .with("final", session.life.isFinal.map(JSONValue.bool))
            answer(message, app, refusal.bytes, into: &batch)
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
