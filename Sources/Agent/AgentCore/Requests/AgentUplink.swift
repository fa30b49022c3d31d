import Gate
package import Sessions
import Wire

/// The agent's view of its connection to the upstream broker.
struct Uplink: Sendable {
    enum Phase: Sendable { case idle, connecting, connected, ready }

    var phase = Phase.idle
    /// When to try next, while idle.
    var retryAt: Duration?
    /// Which of the logins the next try uses: each at one place, then each at the next.
    var login = 0
    /// What the try that is under way or succeeded logs in by.
    var credential: BrokerCredential?
    /// Whether that try goes where a provisioning said, not where `agent.toml` does.
    var isAtLearnedPlace = false
    var backoff = Backoff(first: .seconds(1), limit: .seconds(60))
    var readyAt: Duration?
    /// When this process took a provisioning last.
    var provisionedAt: Duration?
    var takeovers = Takeovers()
    /// Whether another machine uses this board's identity: `takeovers` are the proof.
    var isShared = false
    /// The authority has answered that it is overloaded, and nothing else since.
    var isAuthorityBusy = false
    /// Whether this process has been connected before, and how often.
    var hasBeenReady: Bool { connects > 0 }
    var connects: Int64 = 0
    /// SHA-256 of the refused provisionings that were answered over this connection.
    var answered: [[UInt8]] = []
    /// A revocation whose answer waits for the next connection.
    var farewell: (re: MessageID, session: ObjectID)?
    /// `connected`, or the layer that failed and how.
    var reach = "not connected yet"
    /// Why the broker takes no writes, at the last try.
    var hold: WriteHold?
    /// Whether the scope has changed since the forwarder was told of it.
    var grantsAreUntold = false
    /// For people.
    var text: String {
        let busy = isAuthorityBusy ? "; the authority is overloaded and asks to wait" : ""
        let shared = isShared ? "; " + Agent.sharedIdentity : ""
        return reach + (hold.map { "; writes are held: \($0)" } ?? "") + busy + shared
    }

    var isReady: Bool { phase == .ready }
}

/// A user name and the password that belongs to it; neither is of use with another's.
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

extension Agent {
    mutating func handle(_ event: UplinkEvent, at instant: Instant) {
        bus.healthIsStale = true
        switch event {
        // One loss may be told more than once: every write to a dead connection fails.
        case .refused where uplink.phase == .idle, .lost where uplink.phase == .idle,
            .takenOver where uplink.phase == .idle:
            break
        case .takenOver:
            takenOver(at: instant)
        case .connected:
            uplink.phase = .connected
            uplink.retryAt = nil
            let topic = ContractTopic.inbox(records.identity.installation)
            emit(.subscribeInbox(topic.text(under: settings.topicRoot)))
        case .ready where uplink.phase == .connected:
            uplinkReady(at: instant)
        case .ready:
            break
        case .refused(let text):
            if !uplink.isReady { uplink.login += 1 }
            uplinkLost(text, at: instant)
        case .lost(let text):
            if !uplink.isReady { tryNextPlace() }
            uplinkLost(text, at: instant)
        case .held(let hold):
            held(hold, at: instant)
        case .unblocked:
            connectAnew(at: instant)
        }
    }

    /// A broker that cannot be reached says nothing of a password, so the next place is tried;
    /// one that ends the connection on a wrong password looks the same, so by another login.
    private mutating func tryNextPlace() {
        let count = max(credentials.count, 1)
        uplink.login = (uplink.login / count + 1) * count
    }

    private mutating func uplinkReady(at instant: Instant) {
        uplink.phase = .ready
        uplink.reach = "connected"
        uplink.login = 0
        uplink.readyAt = instant.monotonic
        emit(.log(.info, "connected to the upstream broker"))
        rememberLoginWorked()
        publishStatus(up: true, at: instant)
        if let farewell = uplink.farewell {
            uplink.farewell = nil
            send(.sessionEnded(re: farewell.re, session: farewell.session), at: instant)
        }
        announceAcceptance(at: instant)
        resumeSignOut(at: instant)
        startRequests(after: uplink.hasBeenReady ? .again : .first, at: instant)
        uplink.connects += 1
        steerForwarding(at: instant)
    }

    /// Ends the connection with what is queued on it: records of a session that is over, or of
    /// the user before. The next one is made at once.
    mutating func abandonUplink(at instant: Instant) {
        guard uplink.phase != .idle else { return }
        uplinkIdle()
        uplink.retryAt = instant.monotonic
        emit(.abandonUplink)
        emit(.forward(user: nil))
    }

    private mutating func uplinkIdle() {
        uplink.phase = .idle
        uplink.readyAt = nil
        uplink.isAuthorityBusy = false
        statusNews.disconnected()
        uplink.answered.removeAll()
        life = life.after(.uplinkLost)
        // What was in flight is so no more, and may be too old.
        expiredBefore = nil
        requests.pause()
    }

    mutating func uplinkLost(_ text: String, at instant: Instant) {
        // One that ends again and again is not called up: a minute shows that it stands.
        let hasLasted = uplink.readyAt.map { instant.monotonic - $0 >= .seconds(60) } ?? false
        let hasStood = hasLasted && !uplink.isShared
        if hasStood { uplink.backoff.reset() }
        var wait = uplink.backoff.next(share: randomShare())
        if !hasStood { wait = max(wait, pauseAfterFailure(at: instant)) }
        wait += spreadWait(at: instant)
        // While somebody may be claiming the board, a minute is long to wait at its side.
        if records.session == nil, records.claim != nil { wait = min(wait, .seconds(10)) }
        if uplink.reach != text { emit(.log(.warning, "upstream: \(text)")) }
        uplinkIdle()
        readersGetWhatThereIs(at: instant)
        uplink.reach = text
        uplink.retryAt = instant.monotonic + wait
        emit(.disconnectUplink)
        emit(.forward(user: nil))
    }

    /// Looks for a new claim's authority at once. A board without a session gives up the place
    /// that the last authority named for it, and any try by a login that is not the claim's.
    mutating func beginAnew(at instant: Instant) {
        if records.session == nil, uplink.phase != .idle,
            uplink.isAtLearnedPlace || !uplink.isReady
        {
            uplinkIdle()
            emit(.disconnectUplink)
            emit(.forward(user: nil))
        }
        guard uplink.phase == .idle else { return }
        uplink.login = 0
        uplink.backoff.reset()
        uplink.retryAt = instant.monotonic
    }

    /// Every try has fresh credentials: what worked yesterday may have been replaced.
    mutating func connectIfDue(at instant: Instant) {
        guard uplink.phase == .idle, let due = uplink.retryAt, due <= instant.monotonic else {
            return
        }
        guard let login = nextLogin(at: instant) else {
            uplink.retryAt = nil
            uplink.reach = "no login yet: run `postern-agent pair`"
            return
        }
        uplink.retryAt = nil
        uplink.phase = .connecting
        emit(.connectUplink(login))
    }

    /// The provisioned login first, the one before it until that has worked; and that of a
    /// claim that is open, since the authority may know no other: it may have revoked a session
    /// that the board still holds. Without one the claim is all that can help, so it comes first.
    private var credentials: [BrokerCredential] {
        let known = [records.trust?.provisionedCredential, records.trust?.firstCredential]
            .compactMap(\.self)
        guard let claim = records.claim, let first = firstCredential(of: claim) else {
            return known
        }
        return records.session == nil ? [first] + known : known + [first]
    }

    /// Whether somebody is to claim this board, and may do so at another broker than before.
    private var awaitsClaim: Bool { records.session == nil && records.claim != nil }

    /// Every login at one place, then every one at the other, each round beginning with the
    /// next login. The provisioned place comes first, unless the board waits for a claim.
    private mutating func nextLogin(at instant: Instant) -> UplinkLogin? {
        let board = records.identity.installation
        let credentials = credentials
        let count = credentials.count
        guard count > 0 else { return nil }
        let access = records.trust?.broker
        let hasPlace = access?.uri != nil || access?.ca != nil
        let isFirstPlace = uplink.login / count % 2 == 0
        let isLearned = hasPlace && isFirstPlace != awaitsClaim
        let round = uplink.login / (hasPlace ? 2 * count : count)
        let credential = credentials[(uplink.login + round) % count]
        uplink.credential = credential
        uplink.isAtLearnedPlace = isLearned
        let status = boardStatus(up: false, at: instant)
        return UplinkLogin(
            uri: isLearned ? access?.uri : nil, ca: isLearned ? access?.ca : nil,
            clientID: "postern-\(board)", username: credential.username ?? board.description,
            password: credential.password, will: (statusTopic, status.payload))
    }

    /// What the next try would log in by, for somebody who looks whether it works.
    package mutating func loginToTry(at instant: Instant) -> UplinkLogin? {
        nextLogin(at: instant)
    }

    /// Where a provisioning sent this board, while it goes there; null where `agent.toml` does.
    var learnedPlace: JSONValue {
        guard let access = records.trust?.broker, access.uri != nil || access.ca != nil,
            uplink.phase == .idle ? !awaitsClaim : uplink.isAtLearnedPlace
        else { return .null }
        return .object([
            "uri": access.uri.map(JSONValue.string) ?? .null, "ca": .bool(access.ca != nil),
        ])
    }

    /// The board's first login at a broker, as the authority derives it too.
    func firstCredential(of claim: PendingClaim) -> BrokerCredential? {
        let key = try? cryptography.derive(
            .broker, from: claim.secret, board: records.identity.installation)
        return key.map {
            let password = SecretBytes(Array(Base64URL.encode($0.reveal()).utf8))
            return BrokerCredential(username: nil, password: password)
        }
    }

    /// Once the provisioned password has worked, the one before it is forgotten.
    private mutating func rememberLoginWorked() {
        guard var trust = records.trust, let password = trust.broker?.password,
            let used = uplink.credential?.password, used.matches(password),
            trust.firstPassword != nil
        else { return }
        trust.firstPassword = nil
        trust.firstUsername = nil
        records.trust = trust
        emit(.commit([.trust(trust)]))
    }

    private var statusTopic: String {
        ContractTopic.status(records.identity.installation).text(under: settings.topicRoot)
    }

    mutating func publishStatus(up: Bool, at instant: Instant) {
        lossNews.isUntold = false
        statusNews.said(queue.messages, refusals.total)
        var status = boardStatus(up: up, at: instant)
        status.since = statusNews.since(
            up: up, available: status.available, now: status.since, at: instant.monotonic)
        status.queue = queue.messages
        status.refused = refusals.total
        emit(.publishStatus(topic: statusTopic, status))
    }
}
