import Sessions
import Wire

/// The commands that wait for the authority's answer.
struct CommandWaits: Sendable {
    /// A result that a command still waits for.
    enum Awaited: Hashable, Sendable { case heartbeat, refresh, signOut }

    /// The outcome of a command, as in `result` of its answer.
    enum Outcome: Sendable {
        case done
        /// The authority could not be reached (`offline`), or did not answer in time (`late`).
        case offline
        case late
        case refused(Refusal)
        /// There was no session, or it ended while the command waited.
        case over
    }

    private struct Wait: Sendable {
        let connection: Int
        let until: Duration
        var awaited: Set<Awaited>
    }

    package static let patience = Duration.seconds(15)
    private static let limit = 16

    /// False in an agent that was opened only to answer a command. Such an agent cannot wait for
    /// a reply.
    private(set) var canWait = false
    private var waits: [Wait] = []

    var nextDeadline: Duration? { waits.map(\.until).min() }

    mutating func begin() { canWait = true }

    /// False if too many commands wait already.
    mutating func add(
        _ connection: Int, for awaited: Set<Awaited>, until time: Duration
    ) -> Bool {
        guard waits.count < Self.limit else { return false }
        waits.append(Wait(connection: connection, until: time, awaited: awaited))
        return true
    }

    func areAwaiting(_ awaited: Awaited) -> Bool {
        waits.contains { $0.awaited.contains(awaited) }
    }

    /// Returns the connections whose commands have all their results.
    mutating func succeed(_ awaited: Awaited) -> [Int] {
        for index in waits.indices { waits[index].awaited.remove(awaited) }
        return remove { $0.awaited.isEmpty }
    }

    /// Returns the connections whose commands waited for any of these results.
    mutating func fail(_ awaited: Set<Awaited>) -> [Int] {
        remove { !$0.awaited.isDisjoint(with: awaited) }
    }

    mutating func late(at now: Duration) -> [Int] { remove { $0.until <= now } }

    private mutating func remove(where isOver: (Wait) -> Bool) -> [Int] {
        let over = waits.filter(isOver).map(\.connection)
        waits.removeAll(where: isOver)
        return over
    }
}

extension Agent {
    /// `session refresh`: refreshes the tokens and sends a heartbeat now, independent of the
    /// plan.
    mutating func renew(minutes: Int64?, for connection: Int, at instant: Instant) {
        guard let held = records.session else { return tell(connection, .over, at: instant) }
        guard requests.waits.canWait else { return tell(connection, .offline, at: instant) }
        if let minutes, wouldShorten(held.session, to: minutes, at: instant) {
            return tell(connection, .refused(Self.shorter), at: instant)
        }
        let until = instant.monotonic + CommandWaits.patience
        guard requests.waits.add(connection, for: [.heartbeat, .refresh], until: until) else {
            return tell(connection, .refused(Self.tooMany), at: instant)
        }
        if let minutes { requests.extendNext(by: minutes) }
        guard uplink.isReady else { return hurry(at: instant) }
        requests.hasten(at: instant.monotonic)
        renewNow(at: instant)
    }

    /// Whether the session's present end is later. A person may shorten a session only at its
    /// authority.
    private func wouldShorten(_ held: Session, to minutes: Int64, at instant: Instant) -> Bool {
        guard !clock.isUnset(at: instant) else { return false }
        guard let end = held.expiresAt else { return true }
        let most = LifetimePolicy.longest.components.seconds / 60
        return end > clock.now(at: instant) + .seconds(min(max(minutes, 0), most) * 60)
    }

    /// Starts commands that waited for the connection.
    mutating func renewIfAwaited(at instant: Instant) {
        if requests.waits.areAwaiting(.refresh) { renewNow(at: instant) }
    }

    private mutating func renewNow(at instant: Instant) {
        requests.setHeartbeat(due: instant.monotonic)
        requests.setRefresh(due: instant.monotonic)
    }

    /// Tries to connect now, because a person waits.
    private mutating func hurry(at instant: Instant) {
        if uplink.phase == .idle { uplink.retry(at: instant.monotonic) }
    }

    /// `session logout`: has ended the session on this board when this returns, even if the
    /// authority cannot be reached.
    mutating func logOut(for connection: Int, at instant: Instant) {
        guard let held = records.session else {
            let isUnreadable = records.isUnreadable
            // Without the token the authority cannot be informed. Delete the rest of the session
            // anyway.
            endSession(.signedOut, at: instant)
            if session.life == .over(.expired) { signOutExpired(at: instant) }
            return tell(connection, isUnreadable ? .offline : .over, at: instant)
        }
        session.signOutTries = SignOutTries()
        records.memory.signOut = makeSignOut(of: held, at: instant)
        endSession(.signedOut, at: instant)
        guard requests.waits.canWait else { return tell(connection, .offline, at: instant) }
        let until = instant.monotonic + CommandWaits.patience
        guard requests.waits.add(connection, for: [.signOut], until: until) else {
            return tell(connection, .late, at: instant)
        }
        hurry(at: instant)
    }

    /// A sign-out of an expired session: the board refuses to be renewed from now on.
    private mutating func signOutExpired(at instant: Instant) {
        learnWhyItEnded(SessionEnd.signedOut.rawValue)
        emit(.commit([.memory(records.memory)]))
        publishSessionIfChanged(at: instant)
    }

    private static let shorter = Refusal(.validation, """
        the session lasts longer already; to shorten it, use `postern sessions extend ID SPAN \
        --shorten`
        """)
    private static let tooMany = Refusal(.rateLimit, "too many commands wait for the authority")

    mutating func heard(_ kind: CommandWaits.Awaited, at instant: Instant) {
        for connection in requests.waits.succeed(kind) { tell(connection, .done, at: instant) }
    }

    mutating func failed(
        _ kinds: Set<CommandWaits.Awaited>, _ outcome: CommandWaits.Outcome, at instant: Instant
    ) {
        for connection in requests.waits.fail(kinds) { tell(connection, outcome, at: instant) }
    }

    mutating func answerLateCommands(at instant: Instant) {
        let late = requests.waits.late(at: instant.monotonic)
        // The answer says that no extension happened, so it must not happen later, unless another
        // command waits.
        if !late.isEmpty, !uplink.isReady, !requests.waits.areAwaiting(.heartbeat) {
            requests.forgetExtension()
        }
        for connection in late {
            tell(connection, uplink.isReady ? .late : .offline, at: instant)
        }
    }

    /// Answers with the report of `session show` and the command's outcome.
    private mutating func tell(
        _ connection: Int, _ outcome: CommandWaits.Outcome, at instant: Instant
    ) {
        guard case .object(var members) = sessionReport(at: instant) else { return }
        members["uplink"] = .string(uplink.text)
        let result = switch outcome {
        case .done: "done"
        case .offline: "offline"
        case .late: "late"
        case .refused: "refused"
        case .over: "no-session"
        }
        members["result"] = .string(result)
        if case .refused(let refusal) = outcome { members["error"] = refusal.json }
        emit(.answer(connection: connection, .object(members)))
    }
}

extension Requests.Kind {
    var awaited: CommandWaits.Awaited? {
        switch self {
        case .list, .saveConfiguration, .getConfiguration: nil
        case .authenticate: .heartbeat
        case .refresh: .refresh
        }
    }
}
