import AgentCore
import AgentStore
import ConfigurationFiles
import Gate
import LinuxIO
import Logging
import MQTT
import Sessions
import Wire

/// The board's outbox: what was accepted becomes durable here, and leaves in order once a
/// broker has taken it.
///
/// A write is durable when it is on disk. With `durability = "spill"` the upstream broker's
/// acknowledgement will do: until it comes, or the write is on disk after all, nothing of the
/// batch is acknowledged on the bus (`isHolding`).
struct Outbox: ~Copyable {
    /// How long what was acknowledged waits to leave the disk together with something else.
    private static let removalDelay = Duration.milliseconds(100)
    /// So many acknowledged writes leave the disk at once.
    private static let removalLimit = 512
    /// When the store is asked again that could not do as it was asked.
    private static let retryAfter = Duration.seconds(1)

    private let store: BoardStore
    private let settings: OutboxSettings
    private let log: Logger
    private var forwarder = Forwarder()
    private var recent = RecentWrites()
    private var held: HeldBatch?
    private var reserve: SequenceReserve
    /// Whether redeliveries on the bus are over: one must not be overwritten by what is held.
    private var isBusSettled = false
    /// What can leave the disk, and when it does at the latest.
    private var removable: [Int64] = []
    private var removalDue: Duration?
    /// Why writes go to disk although `durability` spares it; nil while they need not.
    private(set) var spillFault: String?
    /// How many refusals the log hears of next.
    private var nextRefusalSaid: Int64 = 1
    /// When the store is asked again that had no time, and whether that was said.
    private var storeRetryAt: Duration?
    private var isStoreSaidBusy = false

    /// `given` is the last sequence that was given before this life.
    init(_ store: BoardStore, _ settings: OutboxSettings, given: Int64, log: Logger) {
        self.store = store
        self.settings = settings
        self.log = log
        reserve = SequenceReserve(settings.volatileWindow, given: given)
    }

    /// How often a broker did not take a write.
    var refusals: Int64 { forwarder.refusals }
    /// How many the broker has taken in this life.
    var forwarded: Int64 { forwarder.forwarded }
    /// Whether nothing may be acknowledged or answered on the bus now, nor more be read.
    var isHolding: Bool { held != nil }

    var nextDeadline: Duration? {
        // What waits for the store waits until it is asked again.
        [forwarder.nextDeadline, storeRetryAt ?? held?.deadline, removalDue]
            .compactMap(\.self).min()
    }

    /// What this and the store know of the outbox, added to an answer of the agent's.
    func completed(_ answer: JSONValue, dead: Int64 = 0) -> JSONValue {
        let answer = QueueAnswer(store).completed(answer, dead: dead)
        guard case .object(var members) = answer else { return answer }
        members["retryIn"] = forwarder.holdEnds.map { end in
            .integer(max(0, (end - SystemClock.monotonic).components.seconds))
        } ?? .null
        return .object(members)
    }

    /// What keeps the key to all of it.
    var key: KeyAnswer { KeyAnswer(store) }

    /// Nothing comes on the bus a second time any more.
    mutating func busSettled() throws(StoreError) {
        if let given = reserve.inherited, store.reserve.reserved > 0 {
            try store.reserve(upTo: 0, given: given)
        }
        reserve.inheritedAll()
        isBusSettled = true
    }

    mutating func busLost() { isBusSettled = false }

    /// A turn of the loop begins.
    mutating func turnBegins(at now: Duration) { forwarder.turnBegins(at: now) }
    func busWaits(after now: Duration) -> Duration? { forwarder.busWaits(after: now) }

    /// Whose writes may leave; nil: none.
    mutating func forward(_ user: UserID?) {
        forwarder.forward(user)
        if user == nil { recent.removeAll() }
    }

    /// Where this board may publish from now on.
    mutating func grant(_ grants: PublishGrants) { forwarder.grant(grants) }

    /// The session lives: a broker that did not let the board publish is tried again.
    mutating func retryForwarding(at now: Duration) { forwarder.retry(at: now) }

    /// Makes changes durable, those of the queue and the records that go with them, or none;
    /// or holds a batch of writes, if that will do.
    mutating func commit(
        _ changes: [RecordChange], at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        if changes.count == 1, case .append(let writes, let packets)? = changes.first,
            mayHold(writes, packets), try hold(writes, packets, at: now)
        { return }
        // What was accepted before stands before it.
        try spill(into: &events)
        try write(changes, into: &events)
    }

    private mutating func write(
        _ changes: [RecordChange], into events: inout [AgentEvent]
    ) throws(StoreError) {
        var appended: [AcceptedWrite] = []
        var (isQueueChanged, isExpiry) = (false, false)
        for change in changes {
            switch change {
            case .append(let writes, _): appended += writes
            case .destroyQueue: isQueueChanged = true
            case .expire: (isQueueChanged, isExpiry) = (true, true)
            case .claim, .trust, .session, .memory, .clearWindow, .lose: break
            }
        }
        // What has arrived is not to be dropped, nor go for its age, nor be counted as that; nor
        // is what the broker has yet to answer for.
        if isExpiry || excess(with: appended) > 0 { try removeArrived() }
        let excess = excess(with: appended)
        if excess > 0, let limit = settings.dropsBeyond {
            try store.makeRoom(excess + limit / 50, keep: settings.keep)
            isQueueChanged = true
        }
        try store.commit(changes, sparing: isExpiry ? forwarder.awaited : [])
        if isQueueChanged { recent.removeAll() }
        // Without a way the next one begins at the front of the queue, and so on the disk.
        if forwarder.hasWay { recent.append(appended) }
        events.append(.queue(store.usage))
    }

    /// By how many bytes the queue would be over its limit with these; 0 where it refuses instead.
    /// A fiftieth of the limit more is dropped, so that not every batch has to look for something.
    private func excess(with writes: [AcceptedWrite]) -> Int64 {
        guard let limit = settings.dropsBeyond, !writes.isEmpty else { return 0 }
        let size = writes.reduce(0) { $0 + Int64($1.payload.count + $1.topic.utf8.count) + 64 }
        return max(0, store.usage.bytes + size - limit)
    }

    /// Whether these messages can be kept, and those that are held: asked before they are taken.
    func checkRoom(for messages: [BusMessage]) throws(StoreError) {
        var bytes = messages.reduce(0) { $0 + $1.payload.count + $1.topic.utf8.count + 256 }
        for write in held?.writes ?? [] {
            bytes += write.payload.count + write.topic.utf8.count + 256
        }
        try store.checkRoom(for: bytes)
    }
}

// Forwarding.
extension Outbox {
    /// Books what the broker has acknowledged, before anything makes it forgotten: a PUBACK may
    /// come in one read with the end of the session.
    mutating func settle(_ uplink: inout UplinkLink, at now: Duration) {
        forwarder.settle(uplink.takeOutcomes(), at: now)
        if let end = uplink.takeEnd() { forwarder.connectionEnded(end, at: now) }
        for sequence in forwarder.takeAcknowledged() where held?.settle(sequence) != true {
            removable.append(sequence)
            if removalDue == nil { removalDue = now + Self.removalDelay }
        }
        if removable.isEmpty { forwarder.removed() }
        if held?.isSafe == true { held = nil }
    }

    /// Removes what has arrived upstream, and sends what the window has room for.
    ///
    /// Throws what no waiting mends; a life anew from disk is all that is left then.
    mutating func advance(
        _ uplink: inout UplinkLink, at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        forwarder.wake(at: now)
        settle(&uplink, at: now)
        if let stall = forwarder.stall(at: now) {
            forwarder.forward(nil)
            events.append(.uplink(.lost("MQTT: \(stall)")))
        }
        let mayAsk = storeRetryAt.map { $0 <= now } ?? true
        if let held, mayAsk,
            held.deadline <= now || !forwarder.flows || !forwarder.buried.isEmpty
        {
            storeRetryAt = nil
            try attempt(at: now) { (outbox) throws(StoreError) in
                try outbox.spill(into: &events)
            }
        }
        try attempt(at: now) { (outbox) throws(StoreError) in
            try outbox.removeIfDue(at: now, into: &events)
        }
        if storeRetryAt.map({ $0 <= now }) ?? true {
            storeRetryAt = nil
            try attempt(at: now) { (outbox) throws(StoreError) in
                try outbox.sendAll(&uplink, at: now, into: &events)
            }
        }
        let waiting = storeRetryAt == nil ? store.usage.messages - Int64(removable.count) : 0
        forwarder.look(waiting: waiting, at: now)
        if removable.isEmpty, let last = forwarder.takeLastForwarded() {
            events.append(.forwarded(last))
        }
        if removalDue == nil, !forwarder.buried.isEmpty { removalDue = now }
        uplink.watchesEnd = forwarder.watchesEnd
        sayRefusals()
        if forwarder.takeUnblocked() { events.append(.uplink(.unblocked)) }
        if let hold = forwarder.takeHoldNews() { events.append(.uplink(.held(hold))) }
    }

    /// Takes what has arrived out of the queue.
    private mutating func removeArrived() throws(StoreError) {
        if !removable.isEmpty { try store.remove(removable) }
        removable.removeAll(keepingCapacity: true)
        removalDue = nil
        forwarder.removed()
    }

    private mutating func removeIfDue(
        at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        guard let due = removalDue,
            due <= now || removable.count >= Self.removalLimit && storeRetryAt == nil
        else { return }
        try removeArrived()
        // What becomes a dead letter is in the queue by then.
        if !forwarder.buried.isEmpty { try store.bury(forwarder.buried) }
        forwarder.buriedAll()
        isStoreSaidBusy = false
        events.append(.queue(store.usage))
    }

    /// Sends in parts and looks between them at what has been acknowledged: so no more is in
    /// flight than a near broker lets be, however much the window has room for.
    private mutating func sendAll(
        _ uplink: inout UplinkLink, at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        while true {
            let before = forwarder.inFlightCount
            try sendNext(&uplink, at: now, into: &events)
            guard forwarder.inFlightCount - before == Forwarder.part,
                uplink.exchange(into: &events)
            else { return }
            settle(&uplink, at: SystemClock.monotonic)
        }
    }

    private mutating func sendNext(
        _ uplink: inout UplinkLink, at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        if forwarder.wantsControl, store.usage.messages > removable.count {
            sendControl(&uplink, into: &events)
        }
        let room = forwarder.room(window: uplink.window)
        guard room > 0 else { return }
        if held != nil {
            return send(held?.takeUnsent(room) ?? [], over: &uplink, at: now, into: &events)
        }
        if let writes = recent.next(after: forwarder.position, limit: room) {
            return send(writes, over: &uplink, at: now, into: &events)
        }
        guard store.usage.messages > removable.count else { return }
        let writes = try store.next(after: forwarder.position, limit: room)
        for name in store.takeDamaged() {
            log.error("\(name) cannot be read: it is lost. Look at the disk")
            events.append(.queue(store.usage))
        }
        send(writes[...], over: &uplink, at: now, into: &events)
    }

    /// What can wait is tried again in a second: a full disk does not keep from leaving what
    /// stands on it.
    private mutating func attempt(
        at now: Duration, _ body: (inout Self) throws(StoreError) -> Void
    ) throws(StoreError) {
        do throws(StoreError) {
            try body(&self)
        } catch {
            guard error.mayPass else { throw error }
            storeRetryAt = now + Self.retryAfter
            if removalDue.map({ $0 <= now }) == true { removalDue = storeRetryAt }
            if !isStoreSaidBusy { log.warning("the queue waits: \(error)") }
            isStoreSaidBusy = true
        }
    }

    /// Stops at the first write that the connection, not the write, is at fault for.
    private mutating func send(
        _ writes: ArraySlice<AcceptedWrite>, over uplink: inout UplinkLink, at now: Duration,
        into events: inout [AgentEvent]
    ) {
        for write in writes {
            guard forwarder.mayForward(write), !forwarder.buryIfForbidden(write) else {
                forwarder.skip(write.sequence)
                continue
            }
            guard forwarder.hasRoom(for: write) else { return }
            do throws(MQTTError) {
                let packetID = try uplink.publish(write.message)
                guard forwarder.sent(write, as: packetID, at: now) else {
                    return events.append(.uplink(.lost("MQTT: all packet ids are taken")))
                }
            } catch {
                switch error {
                case .tooLarge, .invalid: forwarder.bury(write.sequence, "\(error)")
                case .tooManyInFlight: return
                default: return events.append(.uplink(.lost("\(error)")))
                }
            }
        }
    }

    /// At the first, the second, the fourth …: a broker that refuses all fills no journal.
    private mutating func sayRefusals() {
        guard forwarder.refusals >= nextRefusalSaid else { return }
        while nextRefusalSaid <= forwarder.refusals { nextRefusalSaid *= 2 }
        log.warning("""
            not taken upstream: \(forwarder.lastRefusal); \(forwarder.refusals) so far
            """)
    }

    private mutating func sendControl(
        _ uplink: inout UplinkLink, into events: inout [AgentEvent]
    ) {
        do throws(MQTTError) {
            try uplink.repeatStatus()
            forwarder.controlSent()
        } catch {
            events.append(.uplink(.lost("\(error)")))
        }
    }
}

// Durability "spill".
extension Outbox {
    /// Whether these can be in the upstream broker's hands soon: the way is open, and nothing
    /// waits before them.
    ///
    /// Only what the broker of the bus repeats keeps its sequence through a crash: what came at
    /// QoS 0 goes to disk.
    private func mayHold(_ writes: [AcceptedWrite], _ packets: [DeliveredPacket]) -> Bool {
        settings.durability == .spill && isBusSettled && forwarder.flows
            && packets.count == writes.count && store.usage.messages == removable.count
    }

    /// False where they must go to disk after all.
    private mutating func hold(
        _ writes: [AcceptedWrite], _ window: [DeliveredPacket], at now: Duration
    ) throws(StoreError) -> Bool {
        guard let last = writes.last?.sequence else { return true }
        if let bound = reserve.bound(before: last) { try store.reserve(upTo: bound) }
        reserve.moved(before: last)
        do throws(FileFailure) {
            try reserve.note((held?.window ?? []) + window)
        } catch {
            let text = "durability \"spill\" is not to be had: \(error)"
            if text != spillFault { log.warning("\(text)") }
            spillFault = text
            return false
        }
        spillFault = nil
        if held == nil {
            held = HeldBatch(writes, window: window, at: now)
        } else {
            held?.add(writes, window: window)
        }
        return true
    }

    /// Makes what is held durable on disk, if anything is.
    private mutating func spill(into events: inout [AgentEvent]) throws(StoreError) {
        guard let batch = held else { return }
        try write([.append(batch.rest, window: batch.window)], into: &events)
        held = nil
    }

    /// Makes all durable that was accepted; nothing is asked of the outbox after it.
    mutating func close() throws(StoreError) {
        var events: [AgentEvent] = []
        try spill(into: &events)
        try store.checkPlace()
        try removeArrived()
        if !forwarder.buried.isEmpty { try store.bury(forwarder.buried) }
        if let given = reserve.given { try store.reserve(upTo: 0, given: given) }
        reserve.closed()
    }
}
