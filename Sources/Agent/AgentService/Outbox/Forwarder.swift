import AgentCore
import AgentStore
import Gate
import MQTT
import Sessions

/// Decides which queued write leaves next, and what each answer of the broker means. `Outbox`
/// reads the writes and sends them: in order, with a bounded number unacknowledged.
///
/// A write leaves the queue only after a successful PUBACK, or as a dead letter. Writes are
/// tracked by sequence number: a packet id only names one of those in flight.
///
/// A refusal for now holds the whole queue, which continues at the first refused write. A write
/// that can never be taken becomes a dead letter, and the others go on.
struct Forwarder {
    private struct Flight {
        let sequence: Int64
        let size: Int
        let sentAt: Duration
        let number: Int64
        /// Whether the write's topic is one of the board's own data topics.
        let isData: Bool
    }

    /// How long the first write in flight may wait for its PUBACK.
    static let patience = Duration.seconds(60)
    /// How many writes are sent between two reads of acknowledgements.
    static let part = 64

    /// The user whose writes may leave; nil: none may.
    private var user: UserID?
    /// The user whose writes left last.
    private var lastUser: UserID?
    /// What may leave this board; nil if only the broker decides.
    private var grants: PublishGrants?
    /// The last sequence that was passed to the connection, skipped or buried.
    private var cursor: Int64 = 0
    /// The highest sequence ever passed to a connection.
    private var furthest: Int64 = 0
    /// The sequence up to which the queue is read again, and the sequences to skip there: those in
    /// flight, or still to be removed.
    private var reread: (upTo: Int64, dealtWith: Set<Int64>) = (0, [])
    private var inFlight: [Int32: Flight] = [:]
    private var bytesInFlight = 0
    private var line = InFlightWrites()
    /// When the first write in flight became the first, and how many others were acknowledged
    /// since.
    private var firstSince = Duration.zero
    private var overtaken: Int64 = 0
    private var idle = StallCheck()
    private var catchingUp = CatchingUp()
    private var turnBeganAt: Duration?
    private var window = ForwardingWindow()
    private var search = PoisonSearch()
    /// The sequences that the broker has taken since the last call of `takeAcknowledged`.
    private(set) var acknowledged: [Int64] = []
    /// The sequences that the broker has taken and that may still be in the queue.
    private var unremoved: [Int64] = []
    /// The writes that become dead letters now, and why. Until then they stay in the queue.
    private(set) var buried: [DeadLetterRequest] = []
    /// Why nothing leaves for now.
    private(set) var hold: WriteHold?
    /// When the broker is tried again; nil while it is tried, or without a hold.
    private(set) var holdEnds: Duration?
    /// Whether the hold changed and the agent has not received that yet.
    private var isHoldNews = false
    /// Whether the broker forbade a write and the authority has not answered since.
    private var awaitsAuthority = false
    private var holdBackoff = Backoff(first: .seconds(1), limit: Self.longestHold)
    /// The first write refused since the cursor was last before it.
    private var firstRefused: Int64?
    /// Whether nothing leaves until the broker has acknowledged a control message of this
    /// connection.
    private var awaitsControl = false
    /// Whether a write that ended connections has become a dead letter since the last call of
    /// `takeUnblocked`.
    private var hasUnblocked = false
    /// How often a write was refused.
    private(set) var refusals: Int64 = 0
    /// How many writes the broker has taken.
    private(set) var forwarded: Int64 = 0
    /// The highest sequence of the data messages taken since the last `takeLastForwarded`.
    private var lastForwarded: Int64?
    /// The last refused write, the reason, and the result.
    private(set) var lastRefusal = ""

    /// The longest hold. A broker that forbids is tried this often even without an answer from the
    /// authority, because only the broker knows what it allows.
    private static let longestHold = Duration.seconds(600)

    /// Opens the uplink for a user's writes, or closes it with nil. Writes that were in flight are
    /// sent again.
    ///
    /// `awaitingControl`: nothing leaves until the broker acknowledges a control message, such as
    /// the board's status. What the inbox retains comes before that, and may be a narrower scope.
    mutating func forward(_ user: UserID?, awaitingControl: Bool = false) {
        guard user != self.user else { return }
        self.user = user
        awaitsControl = awaitingControl && user != nil
        inFlight.removeAll()
        line.removeAll()
        bytesInFlight = 0
        firstRefused = nil
        idle.end()
        search.connectionBegan()
        rewind(before: 1)
        guard let user else { return }
        if user != lastUser { endHold() }
        window = ForwardingWindow()
        // The broker may learn only now what the board may write. If it refuses the first write and
        // takes the next, the data is out of order.
        if hold != nil || awaitingControl { window.beginWithOne() }
        lastUser = user
    }

    /// The writes that were sent and not answered yet: the broker may have them.
    var awaited: Set<Int64> { Set(inFlight.values.map(\.sequence)) }

    /// Sets what may leave this board from now on.
    mutating func grant(_ grants: PublishGrants) { self.grants = grants }

    /// Notes the outcomes of writes and of control messages.
    mutating func settle(_ outcomes: [(packetID: Int32, reasonCode: UInt8)], at now: Duration) {
        guard !outcomes.isEmpty else { return }
        for (packetID, reasonCode) in outcomes {
            guard let flight = inFlight.removeValue(forKey: packetID) else {
                awaitsControl = false
                search.controlAnswered()
                idle.end()
                continue
            }
            bytesInFlight -= flight.size
            overtaken += 1
            search.writeAnswered()
            idle.carried()
            window.acknowledged(packetID)
            let answer = BrokerAnswer(reasonCode)
            if case .taken = answer {
                acknowledged.append(flight.sequence)
                forwarded += 1
                if flight.isData {
                    lastForwarded = max(flight.sequence, lastForwarded ?? flight.sequence)
                }
                unremoved.append(flight.sequence)
                if hold != nil, holdEnds == nil { endHold() }
            } else {
                book(answer, reasonCode, of: flight.sequence, at: now)
            }
        }
        window.settled(at: now)
        let flights = inFlight
        if line.advance(isInFlight: { flights[$0]?.number == $1 }) {
            firstSince = now
            overtaken = 0
        }
    }

    private mutating func book(
        _ answer: BrokerAnswer, _ code: UInt8, of sequence: Int64, at now: Duration
    ) {
        let text = "the broker refused it: \(ReasonCode.text(code))"
        switch answer {
        case .taken: break
        case .never: bury(sequence, text)
        case .later: hold(.refused(ReasonCode.text(code)), sequence, text, at: now)
        case .forbidden: hold(.forbidden, sequence, text, at: now)
        }
    }

    /// Makes a write a dead letter, because it can never be taken. The next one follows.
    mutating func bury(_ sequence: Int64, _ reason: String) {
        cursor = max(cursor, sequence)
        if sequence <= furthest { reread.dealtWith.insert(sequence) }
        furthest = max(furthest, sequence)
        buried.append(DeadLetterRequest(sequence: sequence, reason: reason))
        note(sequence, "\(reason); now a dead letter")
    }

    private mutating func note(_ sequence: Int64, _ text: String) {
        refusals += 1
        lastRefusal = "write \(sequence): \(text)"
    }

    private mutating func hold(
        _ reason: WriteHold, _ sequence: Int64, _ text: String, at now: Duration
    ) {
        firstRefused = min(firstRefused ?? sequence, sequence)
        note(sequence, "\(text); everything waits")
        guard holdEnds == nil || (reason == .forbidden && hold != .forbidden) else { return }
        hold = reason
        let span = reason == .forbidden ? Self.longestHold : holdBackoff.next(share: 0)
        holdEnds = now + span
        isHoldNews = true
        awaitsAuthority = reason == .forbidden
    }

    private mutating func endHold() {
        isHoldNews = isHoldNews || hold != nil
        hold = nil
        holdEnds = nil
        holdBackoff.reset()
    }

    /// Whether a write that ended connections became a dead letter since the last call.
    mutating func takeUnblocked() -> Bool {
        defer { hasUnblocked = false }
        return hasUnblocked
    }

    /// Returns the hold once after each change; outer nil if it did not change.
    mutating func takeHoldNews() -> WriteHold?? {
        guard isHoldNews else { return nil }
        isHoldNews = false
        return .some(hold)
    }

    /// The authority reports that the session is valid: a broker that forbids is tried again soon,
    /// with a longer wait each time.
    mutating func retry(at now: Duration) {
        guard awaitsAuthority, let end = holdEnds else { return }
        awaitsAuthority = false
        holdEnds = min(end, now + holdBackoff.next(share: 0))
    }

    /// Goes back to the first refused write when the hold ends, with one write in flight at first.
    mutating func wake(at now: Duration) {
        if let began = turnBeganAt { window.looked(after: now - began) }
        turnBeganAt = nil
        guard let end = holdEnds, end <= now else { return }
        holdEnds = nil
        window.beginWithOne()
        if let first = firstRefused { rewind(before: first) }
        firstRefused = nil
    }

    private mutating func rewind(before sequence: Int64) {
        cursor = min(cursor, sequence - 1)
        let dealtWith = inFlight.values.map(\.sequence) + unremoved + buried.map(\.sequence)
        reread = (furthest, Set(dealtWith))
    }

    /// Why the connection must be given up although it is up; nil if it need not be.
    mutating func stall(at now: Duration) -> String? {
        if let span = idle.stall(at: now) {
            return "writes wait, and none was sent in \(span.components.seconds) s"
        }
        guard let end = stallsAt, end <= now,
            let first = line.first.flatMap({ inFlight[$0] })
        else { return nil }
        let others = overtaken == 0 ? "" : ", and \(overtaken) of later ones"
        let waited = (now - firstSince).components.seconds
        return "no PUBACK for write \(first.sequence) in \(waited) s\(others)"
    }

    private var stallsAt: Duration? { inFlight.isEmpty ? nil : firstSince + Self.patience }

    /// When `wake` has work, or the connection must be given up.
    var nextDeadline: Duration? { [holdEnds, stallsAt, idle.ends].compactMap(\.self).min() }

    /// Notes how many readable writes wait, after all were sent that could be.
    mutating func look(waiting count: Int64, at now: Duration) {
        let isWaiting = count > Int64(buried.count)
        if isWaiting, isOpen, inFlight.isEmpty { idle.begin(at: now) } else { idle.end() }
        let isBehind = flows && window.isNear && !inFlight.isEmpty
            && count > Int64(buried.count + inFlight.count)
        catchingUp.look(waiting: count, taken: forwarded, isBehind: isBehind, at: now)
    }

    /// When the bus stops waiting for its last batch to leave; nil if it does not wait.
    func busWaits(after now: Duration) -> Duration? { catchingUp.ends(after: now) }

    /// The highest sequence of the data messages that the broker has taken; nil if there are none
    /// since the last call.
    mutating func takeLastForwarded() -> Int64? {
        defer { lastForwarded = nil }
        return lastForwarded
    }

    /// The sequences that the broker has taken since the last call.
    mutating func takeAcknowledged() -> [Int64] {
        defer { acknowledged.removeAll(keepingCapacity: true) }
        return acknowledged
    }

    /// Notes that all taken writes were removed from the queue.
    mutating func removed() { unremoved.removeAll(keepingCapacity: true) }

    /// Notes that all of `buried` are dead letters now.
    mutating func buriedAll() { buried.removeAll() }

    /// Notes the end of a connection, before the uplink is closed: see `PoisonSearch`.
    ///
    /// Some brokers refuse a write by a DISCONNECT in place of a PUBACK.
    mutating func connectionEnded(_ end: ConnectionEnd, at now: Duration) {
        if let refusal = end.refusal, let first = inFlight.values.map(\.sequence).min() {
            search.writeAnswered()
            hold(refusal, first, "the broker ended the connection: \(refusal)", at: now)
        }
        let alone = inFlight.count == 1 ? inFlight.values.first : nil
        let blamed = search.connectionEnded(
            end, inFlight: inFlight.count, alone: alone.map { ($0.sequence, $0.sentAt) }, at: now)
        guard let blamed else { return }
        let tries = PoisonSearch.attempts
        hasUnblocked = true
        bury(blamed, "the broker ended \(tries) connections in a row at this message alone")
    }
}

// What leaves next.
extension Forwarder {
    private var isOpen: Bool { user != nil && holdEnds == nil }

    /// Whether the uplink is open for writes, even during a hold.
    var hasWay: Bool { user != nil }

    /// Whether forwarding is free: writes may leave, none waits for a retry, none is suspected.
    var flows: Bool {
        user != nil && !awaitsControl && hold == nil && firstRefused == nil && !search.isOn
    }

    /// Notes that a turn of the loop begins. Until `wake`, no acknowledgements are read.
    mutating func turnBegins(at now: Duration) { turnBeganAt = now }

    /// How many writes wait for their PUBACK.
    var inFlightCount: Int { inFlight.count }

    /// How many writes may leave before acknowledgements are read again. `limit` is the broker's
    /// Receive Maximum.
    func room(receiveMaximum limit: Int) -> Int {
        guard isOpen, !awaitsControl else { return 0 }
        if search.isOn { return inFlight.isEmpty && search.isReady ? min(1, limit) : 0 }
        return max(0, min(limit, window.size, inFlight.count + Self.part) - inFlight.count)
    }

    /// Whether it matters how the connection ends.
    var watchesEnd: Bool { search.isOn }

    /// Whether a control message must be sent before the next write.
    var wantsControl: Bool { isOpen && inFlight.isEmpty && search.wantsControl }

    mutating func controlSent() { search.controlSent() }

    /// The sequence after which the next writes are read.
    var position: Int64 { cursor }

    /// Whether this write may leave. Another user's write never may, and no write is in flight
    /// twice.
    func mayForward(_ write: AcceptedWrite) -> Bool {
        guard write.user == user else { return false }
        if write.sequence > furthest { return true }
        return write.sequence <= reread.upTo && !reread.dealtWith.contains(write.sequence)
    }

    /// Makes the write a dead letter if the session's scope no longer allows it. Returns whether
    /// it did. The scope that accepted the write allowed it.
    mutating func buryIfForbidden(_ write: AcceptedWrite) -> Bool {
        guard let reason = grants?.refusal(of: write) else { return false }
        bury(write.sequence, reason)
        return true
    }

    /// Whether this write's payload fits beside those in flight. The first always fits.
    func hasRoom(for write: AcceptedWrite) -> Bool {
        bytesInFlight == 0 || bytesInFlight + write.payload.count <= ForwardingWindow.bytes
    }

    /// Notes a sent write. Returns false if its packet id is in flight already: the PUBACKs could
    /// not be told apart, so the connection must be given up.
    @discardableResult
    mutating func sent(
        _ sequence: Int64, as packetID: Int32, size: Int = 0, isData: Bool = true,
        at now: Duration
    ) -> Bool {
        guard inFlight[packetID] == nil else { return false }
        if inFlight.isEmpty {
            firstSince = now
            overtaken = 0
        }
        cursor = sequence
        if sequence <= furthest { reread.dealtWith.insert(sequence) }
        furthest = max(furthest, sequence)
        inFlight[packetID] = Flight(
            sequence: sequence, size: size, sentAt: now, number: line.append(packetID),
            isData: isData)
        bytesInFlight += size
        window.sent(packetID, waiting: inFlight.count, bytes: bytesInFlight, at: now)
        return true
    }

    /// Notes a sent write. It is data if its topic is one of the board's own data topics, or if
    /// the grants are unknown.
    mutating func sent(_ write: AcceptedWrite, as packetID: Int32, at now: Duration) -> Bool {
        sent(
            write.sequence, as: packetID, size: write.payload.count,
            isData: grants?.isOwn(write.topic) ?? true, at: now)
    }

    mutating func skip(_ sequence: Int64) { cursor = sequence }
}
