import Gate
import Sessions
import Wire

/// The agent's view of its connection to the upstream broker.
struct Uplink: Sendable {
    enum Phase: Sendable { case idle, connecting, connected, ready }

    var phase = Phase.idle
    /// When to try next, while idle.
    var retryAt: Duration?
    /// Which of the logins the next try uses.
    var login = 0
    /// Tries since the last that succeeded: every other one goes to the broker of `agent.toml`
    /// should the one that the provisioning names not answer.
    var tries = 0
    /// The password of the try that is under way or succeeded.
    var password: SecretBytes?
    var backoff = Backoff(first: .seconds(1), limit: .seconds(60))
    /// For people: `connected`, or the layer that failed and how.
    var text = "not connected yet"

    var isReady: Bool { phase == .ready }
}

extension Agent {
    mutating func handle(_ event: UplinkEvent, at instant: Instant) {
        bus.healthIsStale = true
        switch event {
        case .connected:
            uplink.phase = .connected
            let topic = ContractTopic.inbox(records.identity.installation)
            emit(.subscribeInbox(topic.text(under: settings.topicRoot)))
        case .ready:
            uplinkReady(at: instant)
        case .refused(let text):
            uplink.login += 1
            uplinkLost(text, at: instant)
        case .lost(let text):
            uplinkLost(text, at: instant)
        }
    }

    private mutating func uplinkReady(at instant: Instant) {
        uplink.phase = .ready
        uplink.text = "connected"
        uplink.backoff.reset()
        uplink.tries = 0
        emit(.log(.info, "connected to the upstream broker"))
        rememberLoginWorked()
        publishStatus(up: true, at: instant)
        announceAcceptance(at: instant)
        startRequests(at: instant)
        steerForwarding(at: instant)
    }

    private mutating func uplinkLost(_ text: String, at instant: Instant) {
        var wait = uplink.backoff.next(random: randomByte())
        // While somebody may be claiming the board, a minute is long to wait at its side.
        if records.session == nil, records.claim != nil { wait = min(wait, .seconds(10)) }
        if uplink.text != text { emit(.log(.warning, "upstream: \(text)")) }
        uplink.phase = .idle
        uplink.text = text
        uplink.retryAt = instant.monotonic + wait
        requests.pause()
        emit(.disconnectUplink)
        emit(.forward(user: nil))
    }

    /// Every try has fresh credentials: what worked yesterday may have been replaced.
    mutating func connectIfDue(at instant: Instant) {
        guard uplink.phase == .idle, let due = uplink.retryAt, due <= instant.monotonic else {
            return
        }
        guard let login = nextLogin(at: instant) else {
            uplink.retryAt = nil
            uplink.text = "no login yet: run `postern-agent pair`"
            return
        }
        uplink.retryAt = nil
        uplink.tries += 1
        uplink.password = login.password
        uplink.phase = .connecting
        emit(.connectUplink(login))
    }

    /// The provisioned password first, the derived one until that has worked once; and the
    /// one of a claim that is open, since the authority may know no other.
    private func nextLogin(at instant: Instant) -> UplinkLogin? {
        let board = records.identity.installation
        var passwords: [SecretBytes] = []
        if let password = records.trust?.broker?.password { passwords.append(password) }
        if let first = records.trust?.firstPassword { passwords.append(first) }
        if let claim = records.claim, records.session == nil || passwords.isEmpty,
            let first = firstPassword(of: claim)
        {
            passwords.append(first)
        }
        guard !passwords.isEmpty else { return nil }
        let status = BoardStatus(
            up: false, available: isAvailable, version: settings.version,
            since: clock.now(at: instant), gaps: records.memory.gaps)
        let learned = uplink.tries % 2 == 0 ? records.trust?.broker : nil
        return UplinkLogin(
            uri: learned?.uri, ca: learned?.ca,
            clientID: "postern-\(board)",
            username: records.trust?.broker?.username ?? board.description,
            password: passwords[uplink.login % passwords.count],
            will: (statusTopic, status.payload))
    }

    /// The board's first broker password, as the authority derives it too.
    func firstPassword(of claim: PendingClaim) -> SecretBytes? {
        let key = try? cryptography.derive(
            .broker, from: claim.secret, board: records.identity.installation)
        return key.map { SecretBytes(Array(Base64URL.encode($0.reveal()).utf8)) }
    }

    /// Once the provisioned password has worked, the derived one is forgotten.
    private mutating func rememberLoginWorked() {
        guard var trust = records.trust, let password = trust.broker?.password,
            let used = uplink.password, used.matches(password), trust.firstPassword != nil
        else { return }
        trust.firstPassword = nil
        uplink.login = 0
        records.trust = trust
        emit(.commit([.trust(trust)]))
    }

    private var isAvailable: Bool {
        if case .available = published { true } else { false }
    }

    private var statusTopic: String {
        ContractTopic.status(records.identity.installation).text(under: settings.topicRoot)
    }

    mutating func publishStatus(up: Bool, at instant: Instant) {
        emit(.publishStatus(topic: statusTopic, BoardStatus(
            up: up, available: isAvailable, version: settings.version,
            since: clock.now(at: instant), gaps: records.memory.gaps)))
    }
}
