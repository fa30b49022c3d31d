package import Sessions
package import Wire

/// A sign-out that the authority has not confirmed. Its request was sealed before the token was
/// destroyed. Only the authority can open it.
///
/// Its `iat` may be of any time, because it only ends the session of the board that sealed it.
/// Source: the wire contract, Time and the clock.
package struct SignOut: Equatable, Sendable {
    package let session: ObjectID
    package let id: MessageID
    /// A sealed message for the board's outbox.
    package let payload: [UInt8]

    package init(session: ObjectID, id: MessageID, payload: [UInt8]) {
        self.session = session
        self.id = id
        self.payload = payload
    }
}

extension SignOut {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            session: try json.parsed("session", ObjectID.init),
            id: try json.parsed("id", MessageID.init),
            payload: Array(try json.string("payload").utf8))
    }

    /// Nil if there is no sign-out or it cannot be read. A damaged sign-out must not make the
    /// whole record unreadable.
    init?(kept value: JSONValue?) {
        guard let members = value?.asObject else { return nil }
        do throws(WireError) {
            try self.init(json: JSONObject(members))
        } catch {
            return nil
        }
    }

    package var json: JSONValue {
        .object([
            "session": .string(session.description),
            "id": .string(id.description),
            "payload": .string(String(decoding: payload, as: UTF8.self)),
        ])
    }
}

/// When the sign-out is sent next.
struct SignOutTries: Sendable {
    private(set) var nextAt: Duration?
    private var backoff = Backoff(first: .seconds(10), limit: .seconds(300))

    /// Sends next at `now`: on a new connection.
    mutating func restart(at now: Duration) {
        nextAt = now
        backoff.reset()
    }

    /// Plans the next try after one at `now`. `share` is a random number from 0 to 1.
    mutating func tried(at now: Duration, share: Double) {
        nextAt = now + backoff.next(share: share)
    }
}

extension Agent {
    /// Seals a sign-out. Nil if sealing fails; then the authority is not informed.
    mutating func makeSignOut(of held: HeldSession, at instant: Instant) -> SignOut? {
        guard let key = records.trust?.authority.sealKey, let id = freshID() else { return nil }
        let message = BoardMessage(
            id: id, issuedAt: clock.now(at: instant), clockUnset: clock.isUnset(at: instant),
            body: .revoke(held.tokens.session))
        do throws(CryptographyFailure) {
            let sealed = try cryptography.seal(
                message.plaintext, to: key, from: records.identity.deviceSecret,
                topic: outboxTopic)
            return SignOut(session: held.session.objectID, id: id, payload: sealed.payload)
        } catch {
            emit(.log(.error, "the sign-out could not be sealed: the authority does not get it"))
            return nil
        }
    }

    /// Sends the sign-out at once on each new connection.
    mutating func resumeSignOut(at instant: Instant) {
        session.signOutTries.restart(at: instant.monotonic)
        sendSignOutIfDue(at: instant)
    }

    mutating func sendSignOutIfDue(at instant: Instant) {
        guard let signOut = records.memory.signOut, uplink.isReady,
            let due = session.signOutTries.nextAt, due <= instant.monotonic
        else { return }
        session.signOutTries.tried(at: instant.monotonic, share: randomShare())
        emit(.send(topic: outboxTopic, payload: signOut.payload))
    }

    var signOutDeadline: Duration? {
        records.memory.signOut != nil && uplink.isReady ? session.signOutTries.nextAt : nil
    }

    private mutating func forgetSignOut() {
        records.memory.signOut = nil
        emit(.commit([.memory(records.memory)]))
    }

    /// True if the reply belongs to the sign-out. The sign-out may have been sent long ago, so
    /// the reply only raises the clock's floor and does not set the clock.
    mutating func takeSignOutReply(_ reply: Reply, at instant: Instant) -> Bool {
        guard reply.re == records.memory.signOut?.id else { return false }
        clock.raiseFloor(to: reply.now)
        records.memory.floor = clock.floor
        // An authority restored from a backup may not know the session: then nothing is left to
        // end.
        if case .error(let refusal) = reply.outcome, !refusal.is(.invalidSession),
            !refusal.is(.notFound)
        {
            keepSignOut(despite: refusal, at: instant)
        } else {
            forgetSignOut()
            emit(.log(.info, "the authority has confirmed the sign-out"))
            heard(.signOut, at: instant)
        }
        return true
    }

    /// Keeps the sign-out after any other refusal. It is sent again later.
    private mutating func keepSignOut(despite refusal: Refusal, at instant: Instant) {
        emit(.commit([.memory(records.memory)]))
        emit(.log(.warning, "the authority refused the sign-out: "
            + "\(refusal.code) \(refusal.text)"))
        failed([.signOut], .refused(refusal), at: instant)
    }

    /// Forgets the sign-out: the authority's own message confirms that this session has ended.
    mutating func signOutIsKnown(of session: ObjectID, at instant: Instant) {
        guard records.memory.signOut?.session == session else { return }
        forgetSignOut()
        heard(.signOut, at: instant)
    }
}
