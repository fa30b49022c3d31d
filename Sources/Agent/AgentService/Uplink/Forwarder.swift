import AgentCore
import AgentStore
import Gate
import MQTT
import Sessions

/// Carries queued writes upstream, in order, with a bounded number unacknowledged.
///
/// A write leaves the queue only after a successful PUBACK, or as a dead letter. Booked by its
/// own sequence number: a packet id says only which of those in flight is meant.
///
/// What the broker refuses for now holds the whole queue, which goes on at the first refused;
/// what it can never take is a dead letter, and the others go on.
struct Forwarder {
    private struct Flight {
        let sequence: Int64
        let size: Int
        let sentAt: Duration
        let number: Int64
        /// Whether it goes to a topic of the board's own data.
        let isData: Bool
    }

    /// How long the first of what is in flight may wait for its PUBACK.
    static let patience = Duration.seconds(60)
    /// So many writes are sent between two looks at what was acknowledged.
    static let part = 64

    /// Whose writes may leave; nil: none.
    private var user: UserID?
    /// Whose left last.
    private var lastUser: UserID?
    /// Where this board may publish; nil: the broker alone says.
    private var grants: PublishGrants?
    /// The last sequence handed to the connection.
    private var cursor: Int64 = 0
    /// The highest ever handed to one.
    private var furthest: Int64 = 0
    /// Up to here the queue is read a second time, and these of it were dealt with: in flight,
    /// or still to be removed.
    private var reread: (upTo: Int64, dealtWith: Set<Int64>) = (0, [])
    private var inFlight: [Int32: Flight] = [:]
    private var bytesInFlight = 0
    private var line = FlightLine()
    /// Since when the first in flight is the first, and how many others were acknowledged since.
    private var firstSince = Duration.zero
    private var overtaken: Int64 = 0
    private var idle = IdleWay()
    private var catchingUp = CatchingUp()
    private var turnBeganAt: Duration?
    private var window = ForwardingWindow()
    private var search = PoisonSearch()
    /// What the broker has taken since the last look.
    private(set) var acknowledged: [Int64] = []
    /// What it has taken and may stand in the queue still.
    private var unremoved: [Int64] = []
    /// What becomes a dead letter now, and why; it stands in the queue until then.
    private(set) var buried: [Burial] = []
    /// Why nothing leaves for now.
    private(set) var hold: WriteHold?
    /// When the broker is tried again; nil: it is being tried, or nothing is held.
    private(set) var holdEnds: Duration?
    /// Whether the agent does not know yet how it stands with the hold.
    private var isHoldNews = false
    /// Whether the authority has not answered yet since the broker last forbade.
    private var awaitsAuthority = false
    private var holdBackoff = Backoff(first: .seconds(1), limit: Self.longestHold)
    /// The first write that was refused since the cursor last stood before it.
    private var firstRefused: Int64?
    /// Whether a write that ended connections has just become a dead letter.
    private var hasUnblocked = false
    /// How often a write was refused.
    private(set) var refusals: Int64 = 0
    /// How many writes the broker has taken.
    private(set) var forwarded: Int64 = 0
    /// The highest number of the data messages among them that was not taken yet.
    private var lastForwarded: Int64?
    /// Why the last of them was, and what became of it.
    private(set) var lastRefusal = ""

    /// Without an answer of the authority's, too, a broker that forbids is tried so often: it
    /// alone knows what it allows.
    private static let longestHold = Duration.seconds(600)

    /// Opens or closes the way. Closed, what was in flight will be sent again.
    mutating func forward(_ user: UserID?) {
        guard user != self.user else { return }
        self.user = user
        inFlight.removeAll()
        line.removeAll()
        bytesInFlight = 0
        firstRefused = nil
        window = ForwardingWindow()
        idle.end()
        search.connectionBegan()
        rewind(before: 1)
        guard let user else { return }
        if user != lastUser { endHold() }
        if hold != nil { window.beginWithOne() }
        lastUser = user
    }

    /// What the broker was given and has not answered: it may have it.
    var awaited: Set<Int64> { Set(inFlight.values.map(\.sequence)) }

    /// Where this board may publish from now on.
    mutating func grant(_ grants: PublishGrants) { self.grants = grants }

    /// Books what came of the writes, and of other messages.
    mutating func settle(_ outcomes: [(packetID: Int32, reasonCode: UInt8)], at now: Duration) {
        guard !outcomes.isEmpty else { return }
        for (packetID, reasonCode) in outcomes {
            guard let flight = inFlight.removeValue(forKey: packetID) else {
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

    /// Books a write that can never be taken: a dead letter, and the next one goes.
    mutating func bury(_ sequence: Int64, _ reason: String) {
        cursor = max(cursor, sequence)
        if sequence <= furthest { reread.dealtWith.insert(sequence) }
        furthest = max(furthest, sequence)
        buried.append(Burial(sequence: sequence, reason: reason))
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

    /// Whether a write that ended connections is out of the way since the last call.
    mutating func takeUnblocked() -> Bool {
        defer { hasUnblocked = false }
        return hasUnblocked
    }

    /// How it stands with the hold, after each time that it began or ended; once.
    mutating func takeHoldNews() -> WriteHold?? {
        guard isHoldNews else { return nil }
        isHoldNews = false
        return .some(hold)
    }

    /// The authority says that the session lives: a broker that forbids is tried again soon,
    /// and each time later.
    mutating func retry(at now: Duration) {
        guard awaitsAuthority, let end = holdEnds else { return }
        awaitsAuthority = false
        holdEnds = min(end, now + holdBackoff.next(share: 0))
    }

    /// Goes back to what was refused, when it is time; with one write at first.
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

    /// Why the connection is to be given up, although it stands; nil: it is not.
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

    /// When `wake` has something to do, or the connection is to be given up.
    var nextDeadline: Duration? { [holdEnds, stallsAt, idle.ends].compactMap(\.self).min() }

    /// Notes how many writes wait that the store can hand out, after all was sent that could be.
    mutating func look(waiting count: Int64, at now: Duration) {
        let isWaiting = count > Int64(buried.count)
        if isWaiting, isOpen, inFlight.isEmpty { idle.begin(at: now) } else { idle.end() }
        let isBehind = flows && window.isNear && !inFlight.isEmpty
            && count > Int64(buried.count + inFlight.count)
        catchingUp.look(waiting: count, taken: forwarded, isBehind: isBehind, at: now)
    }

    /// Until when the bus is to wait for what it brought to leave; nil: it is not.
    func busWaits(after now: Duration) -> Duration? { catchingUp.ends(after: now) }

    /// The highest number of the data messages that the broker has taken; nil: none more since
    /// the last call.
    mutating func takeLastForwarded() -> Int64? {
        defer { lastForwarded = nil }
        return lastForwarded
    }

    /// What has arrived since the last call.
    mutating func takeAcknowledged() -> [Int64] {
        defer { acknowledged.removeAll(keepingCapacity: true) }
        return acknowledged
    }

    /// All that arrived have left the queue.
    mutating func removed() { unremoved.removeAll(keepingCapacity: true) }

    /// All of `buried` are dead letters now.
    mutating func buriedAll() { buried.removeAll() }

    /// Books the end of a connection, before the way is closed: see `PoisonSearch`.
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

    /// Whether there is a way for writes, be it held.
    var hasWay: Bool { user != nil }

    /// Whether all goes: writes may leave, none waits to be tried again, none is suspected.
    var flows: Bool { user != nil && hold == nil && firstRefused == nil && !search.isOn }

    /// A turn of the loop begins; until `wake` nobody sees what is acknowledged.
    mutating func turnBegins(at now: Duration) { turnBeganAt = now }

    /// How many writes wait for their PUBACK.
    var inFlightCount: Int { inFlight.count }

    /// How many writes leave before the next look at what was acknowledged; the broker lets
    /// `limit` be unacknowledged.
    func room(window limit: Int) -> Int {
        guard isOpen else { return 0 }
        if search.isOn { return inFlight.isEmpty && search.isReady ? min(1, limit) : 0 }
        return max(0, min(limit, window.size, inFlight.count + Self.part) - inFlight.count)
    }

    /// Whether it matters how the connection ends.
    var watchesEnd: Bool { search.isOn }

    /// Whether another message is to go over the connection before the next write.
    var wantsControl: Bool { isOpen && inFlight.isEmpty && search.wantsControl }

    mutating func controlSent() { search.controlSent() }

    /// The writes to send next are those after this sequence.
    var position: Int64 { cursor }

    /// Whether this write may leave: another user's never does, and none twice at a time.
    func mayForward(_ write: AcceptedWrite) -> Bool {
        guard write.user == user else { return false }
        if write.sequence > furthest { return true }
        return write.sequence <= reread.upTo && !reread.dealtWith.contains(write.sequence)
    }

    /// Whether this write has become a dead letter: its topic was granted to the session that
    /// accepted it, and is no more.
    mutating func buryIfForbidden(_ write: AcceptedWrite) -> Bool {
        guard let grants, !grants.allow(write.topic) else { return false }
        bury(write.sequence, "its topic is not granted any more")
        return true
    }

    /// Whether this write's payload has room beside those in flight; the first always has.
    func hasRoom(for write: AcceptedWrite) -> Bool {
        bytesInFlight == 0 || bytesInFlight + write.payload.count <= ForwardingWindow.bytes
    }

    /// Books what was sent. False when its packet id is another's that is still in flight:
    /// no PUBACK could be told apart, so the connection is to be given up.
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

    /// The same of a write. An authority hears what goes to a topic of the board's own data.
    mutating func sent(_ write: AcceptedWrite, as packetID: Int32, at now: Duration) -> Bool {
        sent(
            write.sequence, as: packetID, size: write.payload.count,
            isData: grants?.isOwn(write.topic) ?? true, at: now)
    }

    mutating func skip(_ sequence: Int64) { cursor = sequence }
}
