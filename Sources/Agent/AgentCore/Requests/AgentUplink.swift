import Gate
package import Sessions
import Wire

extension Agent {
    mutating func handle(_ event: UplinkEvent, at instant: Instant) {
        bus.health.changed()
        switch event {
        // One loss may be reported more than once, because every write to a dead connection
        // fails.
        case .refused where uplink.phase == .idle, .lost where uplink.phase == .idle,
            .takenOver where uplink.phase == .idle:
            break
        case .takenOver where uplink.isToJoin:
            uplinkLost("another board asks to join with the same prepared claim", at: instant)
        case .takenOver:
            takenOver(at: instant)
        case .connected where uplink.isToJoin:
            uplink.connected()
            ask(at: instant)
        case .asked where uplink.isToJoin && uplink.phase == .connected:
            asked(at: instant)
        case .unheard where uplink.isToJoin && uplink.phase == .connected:
            uplinkLost("no authority listens at this broker", at: instant)
        case .asked, .unheard:
            break
        case .connected:
            uplink.connected()
            let topic = ContractTopic.inbox(records.identity.installation)
            emit(.subscribeInbox(topic.text(under: settings.topicRoot)))
        case .ready where uplink.phase == .connected:
            uplinkReady(at: instant)
        case .ready:
            break
        case .refused(let text) where uplink.isToJoin:
            joinRefused(text, at: instant)
        case .refused(let text) where isJoining && !uplink.isReady:
            uplink.tryNextLogin()
            claimRefused(text, at: instant)
        case .refused(let text):
            if !uplink.isReady { uplink.tryNextLogin() }
            let isUnknown = !uplink.isReady && awaitsClaim
            uplinkLost(
                text, expected: isUnknown ? "no broker knows a board before its claim" : nil,
                at: instant)
        case .lost(let text) where uplink.isToJoin:
            uplinkLost(text, at: instant)
        case .lost(let text):
            let isNew = uplink.isReady && isJustProvisioned(at: instant)
            if !uplink.isReady { uplink.tryNextPlace(after: credentials.count) }
            uplinkLost(
                text, expected: isNew ? "the claim gives this board a new broker login" : nil,
                at: instant)
        case .held(let hold):
            held(hold, at: instant)
        case .unblocked:
            uplink.retrySoon(at: instant.monotonic)
        }
    }

    private mutating func uplinkReady(at instant: Instant) {
        let arrival: RequestStart = uplink.hasBeenReady ? .again : .first
        uplink.ready(at: instant.monotonic)
        emit(.log(.info, "connected to the upstream broker"))
        rememberLoginWorked()
        publishStatus(up: true, at: instant)
        if let answer = uplink.takeLateAnswer() {
            send(.sessionEnded(re: answer.re, session: answer.session), at: instant)
        }
        announceAcceptance(at: instant)
        resumeSignOut(at: instant)
        resumeResults(at: instant)
        startRequests(after: arrival, at: instant)
        steerForwarding(at: instant)
    }

    /// Ends the connection and drops its queued records, which belong to an ended session or an
    /// earlier user. The next connection is tried at once.
    mutating func abandonUplink(at instant: Instant) {
        guard uplink.phase != .idle else { return }
        uplinkIdle()
        uplink.retry(at: instant.monotonic)
        emit(.abandonUplink)
        emit(.forward(user: nil))
    }

    private mutating func uplinkIdle() {
        uplink.disconnected()
        inbox.disconnected()
        session.take(.uplinkLost)
        // Nothing is in flight any more, so old writes may expire.
        outbox.nothingIsInFlight()
        requests.pause()
    }

    /// Records the end of a connection or of a try. `expected` says why it is no fault. The log
    /// has it only if `isNews`.
    mutating func uplinkLost(
        _ text: String, expected: String? = nil, isNews: Bool = true, at instant: Instant
    ) {
        let hasLasted = uplink.hasLasted(at: instant.monotonic)
        var wait = uplink.nextPause(share: randomShare(), at: instant.monotonic)
        if !hasLasted { wait = max(wait, pauseAfterFailure(at: instant)) }
        wait += spreadWait(at: instant)
        if awaitsClaim, !isJoinDead(at: instant) {
            wait = min(wait, uplink.longestClaimPause(at: instant.monotonic))
        }
        if isNews, uplink.reach != text {
            emit(.log(expected == nil ? .warning : .info,
                      "upstream: \(text)" + (expected.map { " (as expected: \($0))" } ?? "")))
        }
        uplinkIdle()
        readersGetWhatThereIs(at: instant)
        uplink.retry(at: instant.monotonic + wait, after: text)
        emit(.disconnectUplink)
        emit(.forward(user: nil))
    }

    /// Connects for a new claim at once. A board without a session leaves the place that the last
    /// authority named, and ends any try that is not ready yet.
    mutating func beginAnew(at instant: Instant) {
        if records.session == nil, uplink.phase != .idle,
            uplink.isAtLearnedPlace || !uplink.isReady
        {
            uplinkIdle()
            emit(.disconnectUplink)
            emit(.forward(user: nil))
        }
        guard uplink.phase == .idle else { return }
        uplink.retryFromStart(at: instant.monotonic)
    }

    /// Chooses the credentials again for each try, because they may have been replaced.
    mutating func connectIfDue(at instant: Instant) {
        guard uplink.isDue(at: instant.monotonic) else { return }
        keepClaimOpen(at: instant)
        var login = joinLogin(at: instant)
        if login == nil { login = nextLogin(at: instant) }
        guard let login else { return uplink.hasNoLogin() }
        uplink.connecting()
        emit(.connectUplink(login))
    }

    /// The logins to try: the provisioned one, the one before it until that has worked, and the
    /// login of an open claim. The authority may have revoked a held session and know only the
    /// claim's login. Without a session only the claim helps, so its login comes first. A board
    /// that asks to join has no other, because a connection by an old one would last.
    private var credentials: [BrokerCredential] {
        let known = [records.trust?.provisionedCredential, records.trust?.firstCredential]
            .compactMap(\.self)
        guard let first = records.claim?.secrets.compactMap(firstCredential), !first.isEmpty
        else { return known }
        if isJoining { return first }
        return records.session == nil ? first + known : known + first
    }

    /// Whether the board waits for a claim. The claim may come over another broker than before.
    private var awaitsClaim: Bool { records.session == nil && records.claim != nil }

    /// Tries every login at one place, then every login at the other. Each round begins with the
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
        uplink.use(credential, atLearnedPlace: isLearned)
        let status = boardStatus(up: false, at: instant)
        return UplinkLogin(
            uri: isLearned ? access?.uri : nil, ca: isLearned ? access?.ca : nil,
            clientID: "postern-\(board)", username: credential.username ?? board.description,
            password: credential.password, will: (statusTopic, status.payload))
    }

    /// The login of the next try, for a connection test.
    package mutating func loginToTry(at instant: Instant) -> UplinkLogin? {
        nextLogin(at: instant)
    }

    /// The broker of the provisioning, while the board uses it. JSON null while it uses
    /// `agent.toml`.
    var learnedPlace: JSONValue {
        guard let access = records.trust?.broker, access.uri != nil || access.ca != nil,
            uplink.phase == .idle ? !awaitsClaim : uplink.isAtLearnedPlace
        else { return .null }
        return .object([
            "uri": access.uri.map(JSONValue.string) ?? .null, "ca": .bool(access.ca != nil),
        ])
    }

    /// The board's first login at a broker. The authority derives the same one.
    func firstCredential(of secret: SecretBytes) -> BrokerCredential? {
        firstCredential(from: secret, id: records.identity.installation)
    }

    func firstCredential(from secret: SecretBytes, id: InstallationID) -> BrokerCredential? {
        let key = try? cryptography.derive(.broker, from: secret, board: id)
        return key.map {
            let password = SecretBytes(Array(Base64URL.encode($0.reveal()).utf8))
            return BrokerCredential(username: nil, password: password)
        }
    }

    /// Deletes the earlier password after the provisioned one has worked.
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
        outbox.lossNews.published()
        uplink.statusNews.said(outbox.queue.messages, bus.refusals.total)
        var status = boardStatus(up: up, at: instant)
        status.since = uplink.statusNews.since(
            up: up, available: status.available, now: status.since, at: instant.monotonic)
        status.queue = outbox.queue.messages
        status.refused = bus.refusals.total
        emit(.publishStatus(topic: statusTopic, status))
    }
}
