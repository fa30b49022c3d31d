import Gate
import Sessions
import Wire

/// Programs that requested the user's sessions and wait for the authority's answer.
struct SessionReaders: Sendable {
    struct Reader: Sendable {
        let topic: String
        let correlation: [UInt8]?
        let until: Duration
    }

    static let patience = Duration.seconds(10)
    private static let limit = 16

    private var readers: [Reader] = []

    var nextDeadline: Duration? { readers.map(\.until).min() }
    var isEmpty: Bool { readers.isEmpty }

    /// False if too many readers wait already.
    mutating func add(_ reader: Reader) -> Bool {
        guard readers.count < Self.limit else { return false }
        readers.append(reader)
        return true
    }

    mutating func take(where isDue: (Reader) -> Bool = { _ in true }) -> [Reader] {
        let due = readers.filter(isDue)
        readers.removeAll(where: isDue)
        return due
    }
}

extension Agent {
    /// Makes a reader wait if the cache is older than a heartbeat and can be renewed. False:
    /// answer it from the cache now.
    mutating func waitsForSessions(
        _ message: BusMessage, at instant: Instant
    ) -> Bool {
        guard case .available = session.life.state, let topic = message.responseTopic,
            let held = records.session, uplink.isReady
        else { return false }
        if let listed = requests.listedAt, instant.monotonic - listed < held.heartbeat {
            return false
        }
        let reader = SessionReaders.Reader(
            topic: topic, correlation: message.correlation,
            until: instant.monotonic + SessionReaders.patience)
        guard session.readers.add(reader) else { return false }
        listSessions(at: instant)
        return true
    }

    mutating func readersGetWhatThereIs(at instant: Instant) {
        answer(session.readers.take(), at: instant)
    }

    mutating func answerLateReaders(at instant: Instant) {
        answer(session.readers.take { $0.until <= instant.monotonic }, at: instant)
    }

    private mutating func answer(_ readers: [SessionReaders.Reader], at instant: Instant) {
        guard !readers.isEmpty else { return }
        let payload = readAnswer(.sessions, life(at: instant)).bytes
        for reader in readers {
            emit(.publishBus(BusPublication(
                topic: reader.topic, payload: payload, retain: false,
                correlation: reader.correlation)))
        }
    }

    /// The answer to a read, from the cache. It never contains a token.
    func readAnswer(_ query: BusQuery, _ life: SessionLife) -> JSONValue {
        guard case .available = life.state, let held = records.session else {
            let code = if case .unavailable(let reason) = life.state { reason.code } else {
                ErrorCode.sessionMissing
            }
            return BusAnswer.error(Refusal(code, "there is no session"), isFinal: life.isFinal)
        }
        return switch query {
        case .session: BusAnswer.session(held.session)
        case .user: BusAnswer.user(held.user)
        case .sessions: BusAnswer.sessions(held.knownSessions)
        }
    }
}

extension HeldSession {
    private static let listLimit = 100
    /// The size limit, because the session's record is read whole at each start.
    private static let listBytes = 65_536

    /// The user's restricted sessions from the last answer. The session on this board is always
    /// included, in its current state.
    var knownSessions: [Session] {
        let others = (sessions ?? []).filter { other in
            other.objectID != session.objectID && mayBeShown(other)
        }
        return ([session] + others.prefix(Self.listLimit - 1)).filter(\.restricted)
    }

    /// Keeps the sessions of an answer that programs may see, up to both limits.
    mutating func keep(_ answer: [Session]) {
        var room = Self.listBytes
        var kept: [Session] = []
        for each in answer where mayBeShown(each) {
            room -= each.json.bytes.count
            guard room >= 0, kept.count < Self.listLimit else { break }
            kept.append(each)
        }
        sessions = kept
    }

    /// Whether programs on the board may see this session. By the contract a restricted session
    /// cannot read an unrestricted one, whatever the authority sends.
    private func mayBeShown(_ other: Session) -> Bool {
        other.restricted && other.user == session.user
    }
}
