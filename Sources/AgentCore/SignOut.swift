package import Sessions
package import Wire

/// A sign-out that the authority has not confirmed: requests sealed before the token was
/// destroyed, one for each stretch of time that the authority may hear it in.
///
/// The token is gone from the board, and nobody but the authority can open these. An `iat`
/// counts for five minutes only, and none can be written without the token: so each request
/// is dated ahead, and the one that fits the time is sent.
package struct SignOut: Equatable, Sendable {
    package struct Request: Equatable, Sendable {
        package let id: MessageID
        package let issuedAt: Timestamp
        /// A sealed message for the board's outbox.
        package let payload: [UInt8]

        package init(id: MessageID, issuedAt: Timestamp, payload: [UInt8]) {
            self.id = id
            self.issuedAt = issuedAt
            self.payload = payload
        }
    }

    /// Less than the five minutes either way in which an `iat` counts.
    package static let spacing = Duration.seconds(540)
    /// A day: later the authority hears of it by its own limits, or from its people.
    package static let count = 160

    package let session: ObjectID
    package let requests: [Request]

    package init(session: ObjectID, requests: [Request]) {
        self.session = session
        self.requests = requests
    }

    /// The request that counts at this time; nil where none does.
    package func request(at now: Timestamp) -> Request? {
        requests.first { request in
            let skew = request.issuedAt - now
            return skew <= Self.spacing / 2 && skew >= .zero - Self.spacing / 2
        }
    }

    /// When the first request of each day begins: now, and with a clock that nobody has
    /// confirmed since the start also the last time that the authority is known to have told.
    static func beginnings(
        now: Timestamp, isConfirmed: Bool, told: Timestamp
    ) -> [Timestamp] {
        isConfirmed || now - told < spacing && told <= now ? [now] : [now, told]
    }
}

extension SignOut {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            session: try json.parsed("session", ObjectID.init),
            requests: try json.required("requests") { value in
                guard let entries = value.asArray else { return nil }
                let requests = entries.compactMap(Request.init(entry:))
                return requests.count == entries.count ? requests : nil
            })
    }

    /// Nil where there is none, or none that can be read: it is not worth the record that it
    /// stands in.
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
            "requests": .array(requests.map { request in
                let payload = String(decoding: request.payload, as: UTF8.self)
                return .array([
                    .string(request.id.description), .time(request.issuedAt), .string(payload),
                ])
            }),
        ])
    }
}

extension SignOut.Request {
    fileprivate init?(entry: JSONValue) {
        guard let parts = entry.asArray, parts.count == 3,
            let id = parts[0].asString.flatMap(MessageID.init),
            let time = parts[1].asInteger.flatMap(Timestamp.init(seconds:)),
            let payload = parts[2].asString
        else { return nil }
        self.init(id: id, issuedAt: time, payload: Array(payload.utf8))
    }
}

/// When the sign-out is said next.
struct SignOutTries: Sendable {
    var nextAt: Duration?
    var backoff = Backoff(first: .seconds(10), limit: .seconds(300))
    /// What this process has sent.
    var sent: Set<MessageID> = []
    /// A question for the time, and when it was asked.
    var question: (id: MessageID, at: Duration)?
    /// How often in a row the authority has found the time off.
    var corrections = 0
}

extension Agent {
    /// Nil where nothing can be sealed: then the authority is not told.
    mutating func makeSignOut(of held: HeldSession, at instant: Instant) -> SignOut? {
        guard let key = records.trust?.authority.sealKey else { return nil }
        let told = max(clock.floor, held.lastContact)
        let now = clock.isUnset(at: instant) ? told : clock.now(at: instant)
        var requests: [SignOut.Request] = []
        for begin in SignOut.beginnings(now: now, isConfirmed: clock.isSet, told: told) {
            for index in 0..<SignOut.count {
                let time = begin + SignOut.spacing * index
                guard let request = seal(held.tokens.session, to: key, at: time) else { return nil }
                requests.append(request)
            }
        }
        return SignOut(session: held.session.objectID, requests: requests)
    }

    private mutating func seal(
        _ token: SessionToken, to key: [UInt8], at time: Timestamp
    ) -> SignOut.Request? {
        guard let id = freshID() else { return nil }
        let message = BoardMessage(
            id: id, issuedAt: time, clockUnset: false, body: .revoke(token))
        do throws(CryptographyFailure) {
            let sealed = try cryptography.seal(
                message.plaintext, to: key, from: records.identity.deviceSecret,
                topic: outboxTopic)
            return SignOut.Request(id: id, issuedAt: time, payload: sealed.payload)
        } catch {
            emit(.log(.error, "the sign-out could not be sealed: the authority is not told"))
            return nil
        }
    }

    /// On each new connection the sign-out is said at once.
    mutating func resumeSignOut(at instant: Instant) {
        signOutTries.nextAt = instant.monotonic
        signOutTries.backoff.reset()
        sendSignOutIfDue(at: instant)
    }

    /// A clock that no authority has confirmed since the start says nothing of which request
    /// fits, and a reply to one of those, which may have been sent before, nothing of the time.
    mutating func sendSignOutIfDue(at instant: Instant) {
        guard let signOut = records.memory.signOut, uplink.isReady,
            let due = signOutTries.nextAt, due <= instant.monotonic
        else { return }
        let wait = signOutTries.backoff.next(share: randomShare())
        signOutTries.nextAt = instant.monotonic + wait
        guard clock.isSet, signOutTries.question == nil else { return askTheTime(at: instant) }
        guard let request = signOut.request(at: clock.now(at: instant)) else {
            emit(.log(.warning, "the authority could not be told of the sign-out within a day"))
            forgetSignOut()
            return failed([.signOut], .late, at: instant)
        }
        signOutTries.sent.insert(request.id)
        emit(.send(topic: outboxTopic, payload: request.payload))
    }

    /// A request with a token that is none, all zeros: its clock is said to be unset, so the
    /// authority looks at no token and answers with the time. Source: the wire contract, The
    /// clock.
    private mutating func askTheTime(at instant: Instant) {
        guard let id = freshID() else { return }
        let text = SessionToken.prefix + Base64URL.encode([UInt8](repeating: 0, count: 32))
        let token = SessionToken(unchecked: SecretBytes(Array(text.utf8)))
        signOutTries.question = (id, instant.monotonic)
        send(.authenticate(token, durationMinutes: nil), id: id, isClockUnset: true, at: instant)
    }

    var signOutDeadline: Duration? {
        records.memory.signOut != nil && uplink.isReady ? signOutTries.nextAt : nil
    }

    private mutating func forgetSignOut() {
        records.memory.signOut = nil
        emit(.commit([.memory(records.memory)]))
    }

    /// True if the reply was one to the sign-out, or to its question for the time.
    mutating func takeSignOutReply(_ reply: Reply, at instant: Instant) -> Bool {
        guard records.memory.signOut != nil else { return false }
        if let question = signOutTries.question, question.id == reply.re {
            takeTime(reply.now, askedAt: question.at, at: instant)
            return true
        }
        guard signOutTries.sent.contains(reply.re) else { return false }
        clock.raiseFloor(to: reply.now)
        records.memory.floor = clock.floor
        // An authority that came back from a backup has no such session: nothing lives there.
        if case .error(let refusal) = reply.outcome, !refusal.is(.invalidSession),
            !refusal.is(.notFound)
        {
            keepSignOut(despite: refusal, at: instant)
        } else {
            forgetSignOut()
            emit(.log(.info, "the authority has heard of the sign-out"))
            heard(.signOut, at: instant)
        }
        return true
    }

    /// An answer that was held back is asked for again, under another id.
    private mutating func takeTime(
        _ now: Timestamp, askedAt: Duration, at instant: Instant
    ) {
        guard instant.monotonic - askedAt < .seconds(60) else { return }
        signOutTries.question = nil
        clock.set(to: now, at: instant)
        records.memory.floor = clock.floor
        signOutTries.nextAt = instant.monotonic
        emit(.commit([.memory(records.memory)]))
        sendSignOutIfDue(at: instant)
    }

    /// Whatever the authority says but that it is done, or over: it is said again.
    private mutating func keepSignOut(despite refusal: Refusal, at instant: Instant) {
        emit(.commit([.memory(records.memory)]))
        if refusal.is(.validation), signOutTries.corrections < 3 {
            signOutTries.corrections += 1
            return askTheTime(at: instant)
        }
        emit(.log(.warning, "the authority refused the sign-out: "
            + "\(refusal.code) \(refusal.text)"))
        failed([.signOut], .refused(refusal), at: instant)
    }

    /// The authority itself says that this session is over.
    mutating func signOutIsKnown(of session: ObjectID, at instant: Instant) {
        guard records.memory.signOut?.session == session else { return }
        forgetSignOut()
        heard(.signOut, at: instant)
    }
}
