import Gate
import Sessions
import Wire

/// An opened inbox message, and how its sender proved itself.
struct OpenedMessage {
    let message: AuthorityMessage
    let mode: SealedEnvelope.Mode
    /// SHA-256 of the sealed payload.
    let digest: [UInt8]
}

extension Agent {
    /// Takes one inbox payload. A payload that cannot be opened is dropped and counted, gets no
    /// answer and changes nothing.
    mutating func receive(_ payload: [UInt8], at instant: Instant) {
        if payload.isEmpty { return }
        do throws(InboxFault) {
            guard let opened = try open(payload, at: instant) else { return }
            try take(opened, at: instant)
        } catch {
            inbox.drop()
            let dropped = inbox.dropped
            bus.health.changed()
            // A hostile broker must not fill the log: log drops 1, 2, 4, 8, ….
            if dropped & (dropped - 1) == 0 {
                emit(.log(.warning, "dropped \(dropped) inbox messages; the last: \(error.text)"))
            }
        }
    }

    /// Opens a payload. Nil for a redelivery of the accepted provisioning: it is answered again
    /// until a reply shows that the authority received the answer.
    private mutating func open(
        _ payload: [UInt8], at instant: Instant
    ) throws(InboxFault) -> OpenedMessage? {
        let digest = try cryptographic { () throws(CryptographyFailure) in
            try cryptography.digest(payload)
        }
        if let trust = records.trust, trust.payloadDigest == digest {
            announceAcceptance(at: instant)
            return nil
        }
        let envelope = try readable { () throws(WireError) in
            try SealedEnvelope(parsing: payload)
        }
        let plaintext = try cryptographic { () throws(CryptographyFailure) in
            try open(envelope)
        }
        let message = try readable { () throws(WireError) in
            try AuthorityMessage(parsing: plaintext)
        }
        return OpenedMessage(message: message, mode: envelope.mode, digest: digest)
    }

    private func open(_ envelope: SealedEnvelope) throws(CryptographyFailure) -> [UInt8] {
        let identity = records.identity
        let topic = ContractTopic.inbox(identity.installation).text(under: settings.topicRoot)
        guard try cryptography.keyID(of: identity.deviceKey) == envelope.to else {
            throw .notAuthentic
        }
        switch envelope.mode {
        case .auth:
            guard let sender = records.trust?.authority.sealKey else { throw .notAuthentic }
            return try cryptography.open(
                envelope, from: sender, with: identity.deviceSecret, topic: topic)
        case .psk:
            guard let claim = records.claim else { throw .notAuthentic }
            if let former = claim.former,
                let opened = try? open(envelope, under: former, on: topic)
            {
                return opened
            }
            return try open(envelope, under: claim.secret, on: topic)
        }
    }

    private func open(
        _ envelope: SealedEnvelope, under secret: SecretBytes, on topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        let identity = records.identity
        let key = try cryptography.derive(.claim, from: secret, board: identity.installation)
        return try cryptography.open(
            envelope, claimKey: key, board: identity.installation, with: identity.deviceSecret,
            topic: topic)
    }

    private mutating func take(
        _ opened: OpenedMessage, at instant: Instant
    ) throws(InboxFault) {
        let message = opened.message
        if case .provision(let provision) = message.body {
            try provisioned(provision, by: opened, at: instant)
            return
        }
        guard opened.mode == .auth else { throw InboxFault("only a provisioning may use psk") }
        switch message.body {
        case .reply(let reply):
            try replied(reply, at: instant)
        case .revoked(let sequence, let session, let reason):
            try revoked(session, sequence, reason, by: message, at: instant)
        case .updated(let sequence, let session, let scope):
            try updated(session, scope, sequence, by: message, at: instant)
        case .command(let command):
            take(command, message.id, at: instant)
        case .provision, .unknown:
            throw InboxFault("a type that this version does not know")
        }
    }

    /// Ends the held session and answers, if the revocation's number is new; otherwise throws. A
    /// revocation of any other session is always answered, so that the authority can clear it.
    private mutating func revoked(
        _ session: ObjectID, _ sequence: Int64, _ reason: String,
        by message: AuthorityMessage, at instant: Instant
    ) throws(InboxFault) {
        let isUnreadable = records.isUnreadable && records.trust?.session == session
        if records.session?.session.objectID == session || isUnreadable {
            let taken = try takeSequence(sequence, told: message.issuedAt)
            endSession(SessionEnd(rawValue: reason) ?? .revoked, with: taken, at: instant)
        } else if let trust = records.trust, sequence > trust.highestSequence {
            if trust.session == session { learnWhyItEnded(reason) }
            emit(.commit(try takeSequence(sequence, told: message.issuedAt)))
            publishSessionIfChanged(at: instant)
        }
        signOutIsKnown(of: session, at: instant)
        if uplink.isReady {
            send(.sessionEnded(re: message.id, session: session), at: instant)
        } else {
            uplink.answerLater(message.id, of: session)
        }
    }

    /// Records why the session ended. A 209 does not contain a reason; a revocation message may
    /// follow with it.
    mutating func learnWhyItEnded(_ reason: String) {
        guard let end = SessionEnd(rawValue: reason) else { return }
        session.take(.ended(end))
        if case .over(let end) = session.life { records.memory.ended = end.reason }
    }

    private mutating func updated(
        _ session: Session, _ scope: ScopeDocument?, _ sequence: Int64,
        by message: AuthorityMessage, at instant: Instant
    ) throws(InboxFault) {
        guard var held = records.session, held.mayBecome(session) else {
            throw InboxFault("an update of a session that this board does not hold")
        }
        // A repetition of the last update: the authority has not had its confirmation.
        if let trust = records.trust, sequence <= trust.highestSequence,
            trust.lastUpdate == message.id
        { return confirm(message.id, of: session, at: instant) }
        // A scope that cannot be read does not use up its number: a corrected one may come under
        // the same number.
        let read = try scope.map { document throws(InboxFault) in try readScope(document) }
        let taken = try takeSequence(sequence, told: message.issuedAt, update: message.id)
        let isChange = session != held.session || scope.map { $0 != held.scope } ?? false
        if let scope, let read { adopt(read, scope, into: &held) }
        held.session = session
        records.session = held
        emit(.commit(taken + [.session(held)]))
        confirm(message.id, of: session, at: instant)
        if isChange { replaceHeartbeat(at: instant) }
        backup.askSoon()
        askForConfiguration(at: instant)
        tellGrantsIfNew()
        publishSessionIfChanged(at: instant)
    }

    /// Confirms an update that is durable. Without a connection the authority sends it again after
    /// the next heartbeat.
    private mutating func confirm(
        _ update: MessageID, of session: Session, at instant: Instant
    ) {
        guard uplink.isReady else { return }
        send(.sessionConfirmed(re: update, session: session.objectID), at: instant)
    }

    func readScope(_ document: ScopeDocument) throws(InboxFault) -> Scope {
        try readable { () throws(WireError) in try Scope(document) }
    }

    /// Puts a new scope in force. What was accepted before is judged again before it leaves.
    mutating func adopt(
        _ scope: Scope, _ document: ScopeDocument, into held: inout HeldSession
    ) {
        guard document != held.scope else { return }
        held.scope = document
        held.lastBeforeScope = records.lastSequence
        rules.setScope(scope)
        uplink.grantsChanged()
    }

    /// Keeps the highest number taken. Commit the returned changes together with the message's
    /// own changes. If only the number were durable, a redelivery of the message would look old.
    private mutating func takeSequence(
        _ sequence: Int64, told time: Timestamp, update: MessageID? = nil
    ) throws(InboxFault) -> [RecordChange] {
        guard var trust = records.trust, sequence > trust.highestSequence else {
            throw InboxFault("a message that is not newer than the last one accepted")
        }
        trust.highestSequence = sequence
        if let update { trust.lastUpdate = update }
        records.trust = trust
        clock.raiseFloor(to: time)
        records.memory.floor = clock.floor
        return [.trust(trust), .memory(records.memory)]
    }

    func readable<T>(_ body: () throws(WireError) -> T) throws(InboxFault) -> T {
        do throws(WireError) {
            return try body()
        } catch {
            throw InboxFault(error.refusal.text)
        }
    }

    func cryptographic<T>(
        _ body: () throws(CryptographyFailure) -> T
    ) throws(InboxFault) -> T {
        do throws(CryptographyFailure) {
            return try body()
        } catch {
            throw switch error {
            case .notAuthentic: InboxFault("it cannot be opened")
            case .unknownKey: InboxFault("it is signed by an unknown key")
            case .failed: InboxFault("the cryptographic library failed")
            }
        }
    }
}

/// Why an inbox message was dropped. The text is safe to log.
struct InboxFault: Error {
    let text: String
    init(_ text: String) { self.text = text }
}

extension HeldSession {
    /// Whether `other` is a later version of the same session.
    func mayBecome(_ other: Session) -> Bool {
        other.objectID == session.objectID && other.user == session.user && other.restricted
    }
}
