import Gate
import Sessions
import Wire

/// The agent's view of its connection to the upstream broker.
struct Uplink: Sendable {
    enum Phase: Sendable { case idle, connecting, connected, ready }

    var phase = Phase.idle
    /// When to try next, while idle.
    var retryAt: Duration?
    /// Which of the logins the next try uses: each password at one place, then at the next.
    var login = 0
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
            uplink.retryAt = nil
            let topic = ContractTopic.inbox(records.identity.installation)
            emit(.subscribeInbox(topic.text(under: settings.topicRoot)))
        case .ready:
            uplinkReady(at: instant)
        case .refused(let text):
            uplink.login += 1
            uplinkLost(text, at: instant)
        case .lost(let text):
            if !uplink.isReady { tryNextPlace() }
            uplinkLost(text, at: instant)
        }
    }

    /// A broker that cannot be reached says nothing of a password: begin with the first again.
    private mutating func tryNextPlace() {
        let count = max(passwords.count, 1)
        uplink.login = (uplink.login / count + 1) * count
    }

    private mutating func uplinkReady(at instant: Instant) {
        uplink.phase = .ready
        uplink.text = "connected"
        uplink.login = 0
        uplink.backoff.reset()
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
        uplink.password = login.password
        uplink.phase = .connecting
        emit(.connectUplink(login))
    }

    /// The provisioned password first, the one before it until that has worked; and the one
    /// of a claim that is open, since the authority may know no other.
    private var passwords: [SecretBytes] {
        var passwords = [records.trust?.broker?.password, records.trust?.firstPassword]
            .compactMap(\.self)
        if let claim = records.claim, records.session == nil || passwords.isEmpty,
            let first = firstPassword(of: claim)
        {
            passwords.append(first)
        }
        return passwords
    }

    /// Every password at the provisioned place, then every one at that of `agent.toml`.
    private func nextLogin(at instant: Instant) -> UplinkLogin? {
        let board = records.identity.installation
        let passwords = passwords
        guard !passwords.isEmpty else { return nil }
        let access = records.trust?.broker
        let hasPlace = access?.uri != nil || access?.ca != nil
        let isFallback = hasPlace && uplink.login / passwords.count % 2 == 1
        let status = BoardStatus(
            up: false, available: isAvailable, version: settings.version,
            since: clock.now(at: instant), gaps: records.memory.gaps)
        return UplinkLogin(
            uri: isFallback ? nil : access?.uri, ca: isFallback ? nil : access?.ca,
            clientID: "postern-\(board)", username: access?.username ?? board.description,
            password: passwords[uplink.login % passwords.count],
            will: (statusTopic, status.payload))
    }

    /// The board's first broker password, as the authority derives it too.
    func firstPassword(of claim: PendingClaim) -> SecretBytes? {
        let key = try? cryptography.derive(
            .broker, from: claim.secret, board: records.identity.installation)
        return key.map { SecretBytes(Array(Base64URL.encode($0.reveal()).utf8)) }
    }

    /// Once the provisioned password has worked, the one before it is forgotten.
    private mutating func rememberLoginWorked() {
        guard var trust = records.trust, let password = trust.broker?.password,
            let used = uplink.password, used.matches(password), trust.firstPassword != nil
        else { return }
        trust.firstPassword = nil
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
