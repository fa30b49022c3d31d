import AgentCore
import BoardStore
import Gate
import LinuxIO
import Logging
import Mosquitto
import Sessions
import Wire

/// The board's outbox: what was accepted goes in durably, and leaves in order once a broker
/// has taken it.
struct Outbox: ~Copyable {
    private let storage: BoardStorage
    private let log: Logger
    private var forwarder = Forwarder()
    /// How many refusals the log hears of next.
    private var nextRefusalSaid: Int64 = 1
    /// When the store is asked again that had no time, and whether that was said.
    private var storeRetryAt: Duration?
    private var isStoreSaidBusy = false

    init(_ storage: BoardStorage, log: Logger) {
        self.storage = storage
        self.log = log
    }

    /// How often a broker did not take a write.
    var refusals: Int64 { forwarder.refusals }
    /// Why nothing can leave until the agent starts anew.
    private(set) var fault: String?
    private var removable: [Int64] = []

    var nextDeadline: Duration? {
        [forwarder.nextDeadline, storeRetryAt].compactMap(\.self).min()
    }

    /// What this and the store know of the outbox, added to an answer of the agent's.
    func completed(_ answer: JSONValue, dead: Int64 = 0) -> JSONValue {
        let answer = QueueAnswer(storage).completed(answer, dead: dead)
        guard case .object(var members) = answer else { return answer }
        members["fault"] = fault.map { .string($0) } ?? .null
        members["retryIn"] = forwarder.holdEnds.map { end in
            .integer(max(0, (end - SystemClock.monotonic).components.seconds))
        } ?? .null
        return .object(members)
    }

    /// Makes changes durable, those of the queue and the records that go with them, or none.
    mutating func commit(
        _ changes: [RecordChange], into events: inout [AgentEvent]
    ) throws(StoreError) {
        try storage.commit(changes)
        events.append(.queue(storage.queue))
    }

    /// Whose writes may leave; nil: none.
    mutating func forward(_ user: UserID?) { forwarder.forward(user) }

    /// Books what the broker has acknowledged, before anything makes it forgotten: a PUBACK may
    /// come in one read with the end of the session.
    mutating func settle(_ uplink: inout UplinkLink, at now: Duration) {
        forwarder.settle(uplink.takeOutcomes(), at: now)
        if let end = uplink.takeEnd() { forwarder.connectionEnded(end, at: now) }
    }

    /// Where this board may publish from now on.
    mutating func grant(_ grants: PublishGrants) { forwarder.grant(grants) }

    /// The session lives: a broker that did not let the board publish is tried again.
    mutating func retryForwarding(at now: Duration) { forwarder.retry(at: now) }

    /// Removes what has arrived upstream, and sends what the window has room for.
    ///
    /// Throws what no waiting mends; a life anew from disk is all that is left then.
    mutating func advance(
        _ uplink: inout UplinkLink, at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        forwarder.wake(at: now)
        settle(&uplink, at: now)
        if forwarder.isStalled(at: now) {
            forwarder.forward(nil)
            let seconds = Forwarder.patience.components.seconds
            return events.append(.uplink(.lost("MQTT: no PUBACK for \(seconds) s")))
        }
        if storeRetryAt.map({ $0 <= now }) ?? true {
            do throws(StoreError) {
                try advanceQueue(&uplink, at: now, into: &events)
            } catch {
                try queueFailed(error, at: now)
            }
        }
        uplink.watchesEnd = forwarder.watchesEnd
        sayRefusals()
        if forwarder.takeUnblocked() { events.append(.uplink(.unblocked)) }
        if let hold = forwarder.takeHoldNews() { events.append(.uplink(.held(hold))) }
    }

    private mutating func advanceQueue(
        _ uplink: inout UplinkLink, at now: Duration, into events: inout [AgentEvent]
    ) throws(StoreError) {
        storeRetryAt = nil
        removable += forwarder.takeAcknowledged()
        if fault == nil, !removable.isEmpty || !forwarder.buried.isEmpty {
            try storage.queueReader.transact([.remove(removable), .bury(forwarder.buried)])
            removable.removeAll()
            forwarder.removed()
            forwarder.buriedAll()
            isStoreSaidBusy = false
            events.append(.queue(storage.queue))
        }
        if forwarder.wantsControl, storage.queue.messages > 0 {
            sendControl(&uplink, into: &events)
        }
        let room = fault == nil ? forwarder.room(window: uplink.window) : 0
        guard room > 0, storage.queue.messages > 0 else { return }
        let writes = try storage.queueReader.next(after: forwarder.position, limit: room)
        let lost = storage.queueReader.takeDamaged().count { $0.sequence != nil }
        if lost > 0 {
            // They stand in a table of their own now, and the authority sees a gap.
            events += [.gap(Int64(lost)), .queue(storage.queue)]
        }
        send(writes, over: &uplink, at: now, into: &events)
    }

    /// The queue's trouble is not the session's: what can wait is tried again, and behind a
    /// damaged page nothing is sent, but the board stays within reach.
    private mutating func queueFailed(_ error: StoreError, at now: Duration) throws(StoreError) {
        switch error {
        case .unavailable:
            storeRetryAt = now + .seconds(1)
            if !isStoreSaidBusy { log.warning("the queue waits: \(error)") }
            isStoreSaidBusy = true
        case .corrupt:
            fault = "\(error)"
            log.critical("""
                \(error): the queue cannot be read, NOTHING IS FORWARDED until the agent is \
                started anew; session and uplink stay. Look at the disk.
                """)
        default:
            throw error
        }
    }

    /// Stops at the first write that the connection, not the write, is at fault for.
    private mutating func send(
        _ writes: [AcceptedWrite], over uplink: inout UplinkLink, at now: Duration,
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
                guard forwarder.sent(
                    write.sequence, as: packetID, size: write.payload.count, at: now)
                else {
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

    /// At the first, the second, the fourth …: a broker that refuses all fills no journal.
    private mutating func sayRefusals() {
        guard forwarder.refusals >= nextRefusalSaid else { return }
        while nextRefusalSaid <= forwarder.refusals { nextRefusalSaid *= 2 }
        log.warning("""
            not taken upstream: \(forwarder.lastRefusal); \(forwarder.refusals) so far
            """)
    }
}
