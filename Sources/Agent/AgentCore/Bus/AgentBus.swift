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
    /// Commands that this batch answers.
    var answered: [MessageID] = []
}

extension Agent {
    mutating func busConnected(resumed: Bool, at instant: Instant) {
        bus.connected()
        commands.retry(at: instant.monotonic)
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
            if message.isRetained || message.isEcho { continue }
            judge(message, state, into: &batch, at: instant)
        }
        if !batch.writes.isEmpty {
            emit(.commit([
                .append(batch.writes, window: batch.window, keys: batch.keys)
            ]))
        }
        if !batch.lost.isEmpty { emit(.commit([.lose(batch.lost)])) }
        answered(batch.answered, at: instant)
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
        case .query(let app, let query, let id):
            judge(message, app, query, id, into: &batch, at: instant)
        case .answer(let app, let id):
            judge(message, app, answering: id, into: &batch, at: instant)
        case .refused(let app, let rejection):
            refuse(message, app, rejection, into: &batch, at: instant)
        case .noRequest(let app):
            let rejection = Rejection(
                code: .badKeyName, rule: .builtin(.topic), reason: "after postern/app/\(app)/ "
                    + "the topic goes on with create, update, delete or get")
            refuse(message, app, rejection, into: &batch, at: instant)
        case .ignored: break
        }
    }

    /// Answers a read, unless it waits for the authority's list of sessions.
    private mutating func judge(
        _ message: BusMessage, _ app: AppName, _ query: BusQuery, _ id: ObjectID?,
        into batch: inout Batch, at instant: Instant
    ) {
        if let rejection = rejection(ofReading: message, app, id) {
            return refuse(message, app, rejection, into: &batch, at: instant)
        }
        if query == .sessions, waitsForSessions(message, at: instant) { return }
        answer(message, app, readAnswer(query, session.life).bytes, into: &batch)
    }

    /// Takes an app's answer to a command.
    private mutating func judge(
        _ message: BusMessage, _ app: AppName, answering id: MessageID, into batch: inout Batch,
        at instant: Instant
    ) {
        if let rejection = rejection(ofAsking: message, app) {
            return reject(message, app, rejection, ("answer", ""), into: &batch, at: instant)
        }
        switch take(answer: message.payload, of: app, to: id, at: instant) {
        case .taken: batch.answered.append(id)
        case .known: break
        case .refused(let rejection):
            reject(message, app, rejection, ("answer", ""), into: &batch, at: instant)
        }
    }

    private func rejection(
        ofReading message: BusMessage, _ app: AppName, _ id: ObjectID?
    ) -> Rejection? {
        guard message.responseTopic != nil else {
            return Rejection(
                code: .badKeyName, rule: .builtin(.topic),
                reason: "a read needs a response topic, which MQTT 5 has")
        }
        if let rejection = rejection(ofAsking: message, app) { return rejection }
        guard let id, case .available = session.life.state, let held = records.session,
            id != held.session.objectID
        else { return nil }
        return Rejection(
            code: .notFound, rule: .builtin(.topic),
            reason: "the only session that can be read by its id is this board's own")
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
        let unanswerable = rejection(ofAsking: message, write.app)
        let key = bus.keyDigest(of: message, from: write.app, with: cryptography)
        if let known, known.isDurable {
            // The write was accepted and is durable, even if the rules have changed since.
            confirm(known.sequence, message, write.app, into: &batch)
        } else if unanswerable == nil,
            let first = key.flatMap({ bus.keys.sequence(of: $0, at: instant.monotonic) })
        {
            // The app repeats a write, and the rules may have changed since, too.
            confirm(first, message, write.app, into: &batch)
            if let known, known.sequence != first { batch.lost.append(known.sequence) }
        } else if let rejection = unanswerable
            ?? rejection(of: message, write, state, at: instant) ?? lackOfRoom(for: message)
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

    /// The refusal of a request whose answer cannot go where the request says.
    private func rejection(ofAsking message: BusMessage, _ app: AppName) -> Rejection? {
        guard let topic = message.responseTopic else { return nil }
        guard BusTopic.isResponse(topic, for: app) else {
            return Rejection(
                code: .badKeyName, rule: .builtin(.topic), reason: "the response topic must be "
                    + "below postern/app/\(app)/, and not below its create, update, delete or get")
        }
        guard BusPublication.carries(message.correlation) else {
            return Rejection(
                code: .tooLarge, rule: .builtin(.topic), reason: "the correlation data has more "
                    + "than \(BusPublication.correlationLimit) bytes")
        }
        return nil
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
            operation: write.operation, topic: upstream, payload: message.payload))
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
}
