import AgentCore
import AgentStore
import ConfigurationFiles
import Gate
import LinuxIO
import Logging
import MQTT
import Sessions
import Wire

/// The board's outbox of data. It makes accepted writes durable and forwards them in order, with
/// `BoardStore` (the disk), `Forwarder` (which write is next) and `PendingBatch` (not safe yet).
/// All record changes are committed through it, those of the session, too. A write is durable when
/// it is on disk, or with `durability = "spill"` when the upstream broker has acknowledged it.
/// Until a batch is durable, nothing of it is acknowledged on the bus (`hasPendingBatch`).
struct Outbox: ~Copyable {
    /// How long acknowledged writes wait on disk, so that they are removed together.
    private static let removalDelay = Duration.milliseconds(100)
    /// When this many writes are acknowledged, they are removed at once.
    private static let removalLimit = 512
    /// The wait before a failed store operation is tried again.
    private static let retryAfter = Duration.seconds(1)

    private let store: BoardStore
    private let settings: OutboxSettings
    private let log: Logger
    private var forwarder = Forwarder()
    private var recent = RecentWrites()
    private var held: PendingBatch?
    private var reserve: SequenceReserve
    /// Whether all redeliveries on the bus have arrived. Until then, holding a write could
    /// overwrite their entries in the file in memory.
    private var isBusSettled = false
    /// The sequences to remove from disk, and when they are removed at the latest.
    private var removable: [Int64] = []
    private var removalDue: Duration?
    /// Why writes go to disk in spite of `durability = "spill"`; nil if there is no fault.
    private(set) var spillFault: String?
    /// The refusal count at which the log reports next.
    private var nextRefusalSaid: Int64 = 1
    /// When a failed store operation is tried again, and whether the log reported it.
    private var storeRetryAt: Duration?
    private var isStoreSaidBusy = false

    /// `given` is the last sequence assigned before this start.
    init(_ store: BoardStore, _ settings: OutboxSettings, given: Int64, log: Logger) {
        self.store = store
        self.settings = settings
        self.log = log
        reserve = SequenceReserve(settings.volatileWindow, given: given)
    }

    /// How often a broker refused a write since this start.
    var refusals: Int64 { forwarder.refusals }
    /// How many writes the broker has taken since this start.
    var forwarded: Int64 { forwarder.forwarded }
    /// Whether a batch is held. Then nothing is acknowledged or answered on the bus, and nothing
    /// more is read.
    var hasPendingBatch: Bool { held != nil }

    var nextDeadline: Duration? {
        // A held batch that waits for the store waits until the next try.
        [forwarder.nextDeadline, storeRetryAt ?? held?.deadline, removalDue]
            .compactMap(\.self).min()
    }

    /// Adds to an answer what the outbox and the store know.
    func completed(_ answer: JSONValue, dead: Int64 = 0) -> JSONValue {
        let answer = QueueAnswer(store).completed(answer, dead: dead)
        guard case .object(var members) = answer else { return answer }
        members["retryIn"] = forwarder.holdEnds.map { end in
            .integer(max(0, (end - SystemClock.monotonic).components.seconds))
        } ?? .null
        return .object(members)
    }

    /// Answers about the storage key.
    var key: KeyAnswer { KeyAnswer(store) }

    /// Notes that all redeliveries on the bus have arrived.
    mutating func busSettled() throws(StoreError) {
        if let given = reserve.inherited, store.reserve.reserved > 0 {
            try store.reserve(upTo: 0, given: given)
        }
        reserve.inheritedAll()
        isBusSettled = true
    }

    mutating func busLost() { isBusSettled = false }

    /// Notes that a turn of the loop begins.
    mutating func turnBegins(at now: Duration) { forwarder.turnBegins(at: now) }
    func busWaits(after now: Duration) -> Duration? { forwarder.busWaits(after: now) }

    /// Sets the user whose writes may leave; nil: none may.
    mutating func forward(_ user: UserID?) {
        forwarder.forward(user, awaitingControl: true)
        if user == nil { recent.removeAll() }
    }

    /// Sets what may leave this board from now on.
    mutating func grant(_ grants: PublishGrants) { forwarder.grant(grants) }

    /// The session is valid, so a broker that forbade publishing is tried again.
    mutating func retryForwarding(at now: Duration) { forwarder.retry(at: now) }

    /// Makes all changes durable in one commit, or none. A batch of writes may be held instead.
    mutating func commit(
        _ changes: [RecordChange], at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        if changes.count == 1, case .append(let writes, let packets, let keys)? = changes.first,
            mayHold(writes, packets), try hold(writes, packets, keys, at: now)
        { return }
        // Writes accepted earlier go to disk first.
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
            case .append(let writes, _, _): appended += writes
            case .destroyQueue:
                isQueueChanged = true
                reserve.forgetKeys()
            case .expire: (isQueueChanged, isExpiry) = (true, true)
            case .claim, .join, .trust, .session, .memory, .commands, .clearWindow, .lose: break
            }
        }
        // Removes acknowledged writes first, so that they are not dropped or expired and counted
        // as lost. Writes that the broker has not answered yet do not expire.
        if isExpiry || excess(with: appended) > 0 { try removeArrived() }
        let excess = excess(with: appended)
        if excess > 0, let limit = settings.dropsBeyond {
            try store.makeRoom(excess + limit / 50, keep: settings.keep)
            isQueueChanged = true
        }
        try store.commit(changes, sparing: isExpiry ? forwarder.awaited : [])
        if isQueueChanged { recent.removeAll() }
        // Without an uplink the cache is not used: the next connection reads the queue on disk
        // from the front.
        if forwarder.hasWay { recent.append(appended) }
        events.append(.queue(store.usage))
    }

    /// By how many bytes these writes exceed the queue's limit; 0 if a full queue refuses. The
    /// caller drops 2 % of the limit more, so that not every batch has to drop something.
    private func excess(with writes: [AcceptedWrite]) -> Int64 {
        guard let limit = settings.dropsBeyond, !writes.isEmpty else { return 0 }
        let size = writes.reduce(0) { $0 + Int64($1.payload.count + $1.topic.utf8.count) + 64 }
        return max(0, store.usage.bytes + size - limit)
    }

    /// Checks for room for these messages and the held ones, before they are taken. Throws if
    /// there is none.
    func checkRoom(for messages: [BusMessage]) throws(StoreError) {
        let bytes = messages.reduce(0) { $0 + $1.payload.count + $1.topic.utf8.count + 256 }
        try store.checkRoom(for: bytes + (held?.bytes ?? 0))
    }
}

// Forwarding.
extension Outbox {
    /// Notes the broker's acknowledgements, before the connection's state is cleared: a PUBACK may
    /// be read together with the end of the session.
    mutating func settle(_ uplink: inout UplinkLink, at now: Duration) {
        forwarder.settle(uplink.takeOutcomes(), at: now)
        if let end = uplink.takeEnd() { forwarder.connectionEnded(end, at: now) }
        for sequence in forwarder.takeAcknowledged() where held?.settle(sequence) != true {
            removable.append(sequence)
            if removalDue == nil { removalDue = now + Self.removalDelay }
        }
        if removable.isEmpty { forwarder.removed() }
        if held?.isSafe == true { reserve.keep(held.take()?.keys ?? [], in: store) }
    }

    /// Removes acknowledged writes, and sends as many as the window has room for.
    ///
    /// Throws errors that no wait can cure. The agent then starts again from disk.
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

    /// Removes acknowledged writes from the queue.
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
        // A write must be in the queue before it becomes a dead letter.
        if !forwarder.buried.isEmpty { try store.bury(forwarder.buried) }
        forwarder.buriedAll()
        isStoreSaidBusy = false
        events.append(.queue(store.usage))
    }

    /// Sends in parts and reads acknowledgements between them. So a near broker has few writes in
    /// flight, however large the window is.
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
        let room = forwarder.room(receiveMaximum: uplink.receiveMaximum)
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
            log.error("\(name) cannot be read: it is lost. Check the disk")
            events.append(.queue(store.usage))
        }
        send(writes[...], over: &uplink, at: now, into: &events)
    }

    /// Tries a store operation again in one second after a failure that may pass. With a full
    /// disk, stored writes can still be sent.
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

    /// Stops at a write that fails because of the connection.
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

    /// Logs the first, second, fourth … refusal, so that a broker that refuses all does not fill
    /// the log.
    private mutating func sayRefusals() {
        guard forwarder.refusals >= nextRefusalSaid else { return }
        while nextRefusalSaid <= forwarder.refusals { nextRefusalSaid *= 2 }
        log.warning("""
            not accepted upstream: \(forwarder.lastRefusal); \(forwarder.refusals) so far
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
    /// Whether these writes may be held: the uplink is open, and no write waits before them.
    ///
    /// A write keeps its sequence through a crash only if the local broker repeats it. A write
    /// that came at QoS 0 goes to disk.
    private func mayHold(_ writes: [AcceptedWrite], _ packets: [DeliveredPacket]) -> Bool {
        settings.durability == .spill && isBusSettled && forwarder.flows
            && packets.count == writes.count && store.usage.messages == removable.count
    }

    /// Holds the writes. Returns false if they must go to disk.
    private mutating func hold(
        _ writes: [AcceptedWrite], _ window: [DeliveredPacket], _ keys: [KeptKey],
        at now: Duration
    ) throws(StoreError) -> Bool {
        guard let last = writes.last?.sequence else { return true }
        if let bound = reserve.bound(before: last) { try store.reserve(upTo: bound) }
        reserve.moved(before: last)
        do throws(FileFailure) {
            try reserve.note((held?.window ?? []) + window, in: store)
        } catch {
            let text = "durability \"spill\" is not available: \(error)"
            if text != spillFault { log.warning("\(text)") }
            spillFault = text
            return false
        }
        spillFault = nil
        if held == nil { held = PendingBatch(at: now) }
        held?.add(writes, window: window, keys: keys)
        return true
    }

    /// Writes the held batch to disk, if there is one.
    private mutating func spill(into events: inout [AgentEvent]) throws(StoreError) {
        guard let batch = held else { return }
        try write([.append(batch.rest, window: batch.window, keys: batch.keys)], into: &events)
        held = nil
    }

    /// Makes all accepted writes durable. The outbox is not used afterwards.
    mutating func close() throws(StoreError) {
        var events: [AgentEvent] = []
        try spill(into: &events)
        try store.checkPlace()
        try removeArrived()
        if !forwarder.buried.isEmpty { try store.bury(forwarder.buried) }
        try reserve.close(store)
    }
}
