import Gate
import Sessions
import Wire

/// The agent's view of its connection to the upstream broker.
struct Uplink: Sendable {
    enum Phase: Sendable { case idle, connecting, connected, ready }

    private(set) var phase = Phase.idle
    /// When to try to connect next, while idle.
    private(set) var retryAt: Duration?
    /// The number of the next login. The agent tries each login at one place, then each at the
    /// other.
    private(set) var login = 0
    /// The credential of the current or last try.
    private(set) var credential: BrokerCredential?
    /// Whether that try uses the broker of the provisioning instead of `agent.toml`.
    private(set) var isAtLearnedPlace = false
    /// Whether that try uses the login of a prepared claim. Such a connection carries only the
    /// join request, and never becomes ready.
    private(set) var isToJoin = false
    /// When this process last accepted a provisioning.
    private(set) var provisionedAt: Duration?
    /// When this process began to wait for a claim, or somebody last asked for its code.
    private var claimAwaitedSince: Duration?
    /// Whether another machine uses this board's identity. `takeovers` is the proof.
    private(set) var isShared = false
    /// How often this process has been connected.
    private(set) var connects: Int64 = 0
    /// `connected`, or the layer that failed and how.
    private(set) var reach = "not connected yet"
    /// Why the broker accepted no writes at the last try.
    private(set) var hold: WriteHold?
    /// Whether the scope has changed since the forwarder received the grants.
    private(set) var grantsAreUntold = false
    var statusNews = StatusReporting()
    /// Whether the authority's last answer was that it is overloaded.
    private var isAuthorityBusy = false
    private var backoff = Backoff(first: .seconds(1), limit: .seconds(60))
    private var readyAt: Duration?
    private var takeovers = Takeovers()
    /// A revocation whose answer waits for the next connection.
    private var lateAnswer: (re: MessageID, session: ObjectID)?

    var isReady: Bool { phase == .ready }
    /// Whether this process has been connected before.
    var hasBeenReady: Bool { connects > 0 }

    /// Text for people.
    var text: String {
        let busy = isAuthorityBusy ? "; the authority is overloaded and asks to wait" : ""
        let shared = isShared ? "; " + Agent.sharedIdentity : ""
        return reach + (hold.map { "; writes are held: \($0)" } ?? "") + busy + shared
    }

    /// Records whether the authority's answer was that it is overloaded.
    mutating func authorityAnswered(isBusy: Bool) { isAuthorityBusy = isBusy }

    /// Keeps the answer to a revocation for the next connection.
    mutating func answerLater(_ revocation: MessageID, of session: ObjectID) {
        lateAnswer = (revocation, session)
    }

    mutating func takeLateAnswer() -> (re: MessageID, session: ObjectID)? {
        defer { lateAnswer = nil }
        return lateAnswer
    }
}

// The connection.
extension Uplink {
    mutating func connecting() {
        phase = .connecting
        retryAt = nil
    }

    mutating func connected() {
        phase = .connected
        retryAt = nil
    }

    mutating func ready(at now: Duration) {
        phase = .ready
        reach = "connected"
        login = 0
        readyAt = now
        connects += 1
    }

    /// Records the end of the connection or of the try.
    mutating func disconnected() {
        phase = .idle
        readyAt = nil
        isAuthorityBusy = false
        statusNews.disconnected()
    }

    /// Whether the connection has lasted a minute. A connection of a shared identity never counts
    /// as lasting.
    func hasLasted(at now: Duration) -> Bool {
        !isShared && readyAt.map { now - $0 >= .seconds(60) } ?? false
    }

    /// Records that the broker accepts no writes; nil: that it accepts them again.
    mutating func setHold(_ hold: WriteHold?) { self.hold = hold }

    mutating func grantsChanged() { grantsAreUntold = true }
    mutating func grantsTold() { grantsAreUntold = false }
}

// The next try to connect.
extension Uplink {
    func isDue(at now: Duration) -> Bool {
        phase == .idle && retryAt.map { $0 <= now } ?? false
    }

    mutating func retry(at time: Duration) { retryAt = time }

    /// Plans the next try after `text` ended the last one.
    mutating func retry(at time: Duration, after text: String) {
        reach = text
        retryAt = time
    }

    /// The pause before the next try. `share` is a random number from 0 to 1.
    ///
    /// The backoff resets only after a connection of a minute. A connection that ends again and
    /// again must not be retried at once.
    mutating func nextPause(share: Double, at now: Duration) -> Duration {
        if hasLasted(at: now) { backoff.reset() }
        return backoff.next(share: share)
    }

    /// Tries the first login now, for a new claim.
    mutating func retryFromStart(at now: Duration) {
        login = 0
        backoff.reset()
        retryAt = now
    }

    /// Records that somebody asked for the claim's code. The next try comes soon.
    mutating func claimShown(at now: Duration) {
        claimAwaitedSince = now
        retrySoon(at: now)
    }

    /// The longest pause of a board that waits for a claim. For ten minutes it is short: a person
    /// probably waits, and the broker knows the board only from the claim on.
    mutating func longestClaimPause(at now: Duration) -> Duration {
        let since = claimAwaitedSince ?? now
        claimAwaitedSince = since
        return now - since < .seconds(600) ? .seconds(3) : .seconds(10)
    }

    /// Shortens the wait for the next try: the cause of the failed ones is gone.
    mutating func retrySoon(at now: Duration) {
        guard phase == .idle, let due = retryAt else { return }
        backoff.reset()
        retryAt = min(due, now + .seconds(1))
    }

    /// Stops trying, because the board has no login.
    mutating func hasNoLogin() {
        retryAt = nil
        reach = "no login yet: run `postern-agent pair`"
    }

    /// Records the login of a try.
    mutating func use(
        _ credential: BrokerCredential, atLearnedPlace isLearned: Bool = false,
        toJoin: Bool = false
    ) {
        self.credential = credential
        isAtLearnedPlace = isLearned
        isToJoin = toJoin
    }

    mutating func tryNextLogin() { login += 1 }

    /// Selects the next place. An unreachable broker gives no answer about the password. A broker
    /// that ends the connection on a wrong password looks the same, so each round also begins
    /// with another login.
    mutating func tryNextPlace(after loginCount: Int) {
        let count = max(loginCount, 1)
        login = (login / count + 1) * count
    }

    /// Begins again with the first login. The authority may end this connection to set the new
    /// password, and the next try must not wait for that.
    mutating func provisioned(at now: Duration) {
        login = 0
        provisionedAt = now
        backoff.reset()
    }
}

// Another machine with this board's identity.
extension Uplink {
    /// Records that another client replaced this connection. Returns whether this is the proof
    /// that was missing.
    ///
    /// Two machines must not replace each other faster and faster, so this connection does not
    /// count as lasting.
    mutating func takenOver(at now: Duration) -> Bool {
        takeovers.add(at: now)
        readyAt = nil
        return judgeTakeovers(at: now)
    }

    /// Records that the authority has the proof. Returns whether it was missing.
    mutating func provedShared(at now: Duration) -> Bool {
        takeovers.prove(at: now)
        return judgeTakeovers(at: now)
    }

    private mutating func judgeTakeovers(at now: Duration) -> Bool {
        let wasShared = isShared
        isShared = takeovers.areProof(at: now)
        return isShared && !wasShared
    }

    /// Assumes after an hour without a takeover that the other machine has gone. Returns whether
    /// this has just changed.
    mutating func forgetTakeovers(at now: Duration) -> Bool {
        guard isShared, !takeovers.areProof(at: now) else { return false }
        isShared = false
        return true
    }
}

/// A user name and its password. They only work together.
struct BrokerCredential: Sendable {
    /// Nil: the installation id.
    let username: String?
    let password: SecretBytes
}

extension Trust {
    var provisionedCredential: BrokerCredential? {
        broker?.password.map { BrokerCredential(username: broker?.username, password: $0) }
    }

    var firstCredential: BrokerCredential? {
        firstPassword.map { BrokerCredential(username: firstUsername, password: $0) }
    }
}
