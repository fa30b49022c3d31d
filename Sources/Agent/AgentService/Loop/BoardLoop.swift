import AgentCore
import AgentStore
import Gate
import LinuxIO
import Logging
import MQTT
package import Sessions
import Wire

/// The agent's one thread. It waits, passes events to the agent, and performs the agent's effects.
///
/// It decides only the order of a turn: read, decide, make durable, publish, then acknowledge.
struct BoardLoop: ~Copyable {
    enum Ending { case stopped, storeFailed(StoreError), failed(SystemError) }

    var agent: Agent
    var outbox: Outbox
    var bus: BusLink
    var uplink: UplinkLink
    var poller = Poller()
    var events: [AgentEvent] = [.started]
    /// The events of this turn. The array is reused.
    private var batch: [AgentEvent] = []
    private var ending: Ending?
    /// When memory needed only at the start is freed: two seconds after the uplink is first ready.
    var trimAt: Duration?
    private var hasTrimmed = false
    /// Whether messages were read from the bus and not handled. They are not acknowledged.
    private(set) var hasUnjudged = false
    /// Events that wait for room in the store: from the bus, and from the inbox.
    var stalledBus = StalledEvents(limit: .max)
    var stalledInbox = StalledEvents(limit: 64)
    /// Why the last event had to wait; nil once the store accepts changes again.
    private(set) var stallText: String?
    /// The most answers that wait for a held batch; further ones are dropped. A batch has fewer,
    /// but refusals of other messages come beside it.
    private static let heldLimit = 2 * Int(BusLink.receiveMaximum)
    /// Answers for the apps of a held batch, published once the batch is safe.
    private var heldAnswers: [BusPublication] = []
    /// Whether the bus is subscribed and readiness is not reported yet.
    private var isReadyNews = false
    /// Rules of the replaced board that were just received.
    private var toRestore: BoardConfiguration?
    /// The part of `status` about the rules.
    var rulesReport = JSONValue.null
    let log: Logger

    init(
        agent: Agent, outbox: consuming Outbox, bus: consuming BusLink,
        uplink: consuming UplinkLink, log: Logger
    ) {
        self.agent = agent
        self.outbox = outbox
        self.bus = bus
        self.uplink = uplink
        self.log = log
    }

    /// Runs until a signal stops it or the store fails. After a store failure nothing more is
    /// acknowledged.
    mutating func run(_ service: inout LastingParts) -> Ending {
        rulesReport = service.rules.report
        while true {
            turn(&service.control)
            if let rules = toRestore, ending == nil {
                toRestore = nil
                // The rules come into force before the next messages of the bus.
                if let event = service.rules.restore(rules) {
                    rulesReport = service.rules.report
                    events.append(event)
                    turn(&service.control)
                }
            }
            if let ending {
                if case .storeFailed = ending { return ending }
                return leave(ending, service)
            }
            if isReadyNews { service.sayReady() }
            isReadyNews = false
            // Each turn counts as progress for the watchdog; a thread that hangs inside one
            // reports nothing.
            service.beat { agent.figures(at: .current).sentence }
            do throws(SystemError) {
                try wait(&service)
            } catch {
                return .failed(error)
            }
        }
    }

    /// Handles all events: decides, makes durable, publishes and acknowledges.
    private mutating func turn(_ control: inout ControlServer) {
        repeat {
            swap(&batch, &events)
            for event in batch {
                if ending == nil {
                    handle(event, &control)
                } else if case .bus = event {
                    hasUnjudged = true
                }
            }
            batch.removeAll(keepingCapacity: true)
            if ending != nil { return }
            // The local broker sends the next batch while this one goes upstream.
            flushBus()
            advanceOutbox()
            if ending != nil { return }
            uplink.flush(into: &events)
            flushBus()
        } while !events.isEmpty
    }

    /// Publishes answers and acknowledges messages on the bus once they are durable.
    private mutating func flushBus() {
        tellHeld()
        bus.acknowledge(!outbox.hasPendingBatch && stalledBus.isEmpty)
        if let text = bus.flush(at: SystemClock.monotonic, into: &events) {
            log.warning("\(text)")
        }
    }

    private mutating func handle(_ event: AgentEvent, _ control: inout ControlServer) {
        switch event {
        case .bus, .busConnected:
            if stalledBus.follows(event) { return }
        case .inbox:
            if stalledInbox.follows(event) { return }
        // The local broker delivers all stalled messages again.
        case .busLost:
            stalledBus.clear()
            outbox.busLost()
        case .uplink(.lost), .uplink(.refused): stalledInbox.clear()
        case .uplink(.ready) where !hasTrimmed:
            hasTrimmed = true
            trimAt = SystemClock.monotonic + .seconds(2)
        default: break
        }
        if let error = lacksRoom(for: event) { return stall(event, error) }
        obey(event, &control)
        if case .busConnected = event, ending == nil { busSettled() }
    }

    /// Called when the agent's changes for the new bus connection are durable.
    private mutating func busSettled() {
        do throws(StoreError) {
            // While the agent is unreadable, the bus is on hold and its redeliveries are still to
            // come.
            if !agent.isUnreadable { try outbox.busSettled() }
        } catch {
            return ending = .storeFailed(error)
        }
        isReadyNews = true
    }

    private mutating func obey(_ event: AgentEvent, _ control: inout ControlServer) {
        for effect in agent.handle(event, at: .current) {
            if case .control(let request, let asker) = event,
                case .answer(let connection, let json) = effect, connection == asker
            {
                control.answer(connection, completed(json, for: request))
            } else {
                perform(effect, &control)
            }
            if ending != nil { return }
        }
    }

    /// Checks whether the store has room for an event. If it has none, the event waits and this
    /// returns the reason. If the store fails in spite of the check, the agent starts again from
    /// disk.
    private func lacksRoom(for event: AgentEvent) -> StoreError? {
        let messages: [BusMessage]
        switch event {
        case .bus(let batch): messages = batch
        case .inbox: messages = []
        default: return nil
        }
        do throws(StoreError) {
            try outbox.checkRoom(for: messages)
            return nil
        } catch {
            return error
        }
    }

    /// Keeps the event and tries it again after one second. While an event of the bus waits, the
    /// bus is neither read nor acknowledged.
    private mutating func stall(_ event: AgentEvent, _ error: StoreError) {
        let now = SystemClock.monotonic
        switch event {
        case .inbox: stalledInbox.add(event, at: now)
        default: stalledBus.add(event, at: now)
        }
        let text = "no write is accepted until it can be stored: \(error)"
        if stallText != text { log.error("\(text)") }
        stallText = text
    }

    mutating func tellHeld() {
        guard !outbox.hasPendingBatch, !heldAnswers.isEmpty else { return }
        for answer in heldAnswers { say(answer) }
        heldAnswers.removeAll(keepingCapacity: true)
    }

    private mutating func say(_ publication: BusPublication) {
        if let text = bus.publish(publication, at: SystemClock.monotonic, into: &events) {
            log.warning("\(text)")
        }
    }

    private mutating func perform(_ effect: AgentEffect, _ control: inout ControlServer) {
        switch effect {
        case .commit(let changes): commit(changes)
        case .publishBus(let publication):
            if outbox.hasPendingBatch, !publication.retain {
                if heldAnswers.count < Self.heldLimit { heldAnswers.append(publication) }
            } else {
                say(publication)
            }
        case .publishCommand(let id, let publication):
            if let text = bus.publish(
                publication, command: id, at: SystemClock.monotonic, into: &events)
            {
                log.warning("\(text)")
            }
        case .connectUplink(let login):
            if let event = uplink.connect(login, at: SystemClock.monotonic) { events.append(event) }
        case .disconnectUplink:
            outbox.settle(&uplink, at: SystemClock.monotonic)
            uplink.disconnect()
        case .abandonUplink:
            outbox.settle(&uplink, at: SystemClock.monotonic)
            uplink.abandon()
            // Another user has claimed the board. The rules are the former user's.
            toRestore = nil
        case .subscribeInbox(let topic):
            attempt { uplink throws(MQTTError) in try uplink.subscribe(topic) }
        case .askToJoin(let topic, let payload):
            let request = OutgoingMessage(
                topic: topic, payload: payload, qos: .atLeastOnce, retain: false)
            attempt { uplink throws(MQTTError) in try uplink.ask(request) }
        case .send(let topic, let payload):
            publish(OutgoingMessage(
                topic: topic, payload: payload, qos: .atLeastOnce, retain: false))
        case .publishStatus(let topic, let status):
            publish(OutgoingMessage(
                topic: topic, payload: status.payload, qos: .atLeastOnce, retain: true))
        case .forward(let user):
            outbox.settle(&uplink, at: SystemClock.monotonic)
            outbox.forward(user)
        case .grant(let grants): outbox.grant(grants)
        case .retryForwarding: outbox.retryForwarding(at: SystemClock.monotonic)
        case .readBus(let isWanted): bus.read(isWanted)
        case .holdBus(let isWanted):
            if let text = bus.hold(isWanted, at: SystemClock.monotonic, into: &events) {
                log.warning("\(text)")
            }
        case .readRoutes(let filters):
            if let text = bus.readRoutes(
                filters.map(\.description), at: SystemClock.monotonic, into: &events)
            {
                log.warning("\(text)")
            }
        case .restore(let rules): toRestore = rules
        case .answer(let connection, let json): control.answer(connection, json)
        case .log(let level, let text): log.log(level: Logger.Level(level), "\(text)")
        case .exit: ending = .stopped
        }
    }

    private mutating func commit(_ changes: [RecordChange]) {
        do throws(StoreError) {
            try outbox.commit(changes, at: SystemClock.monotonic, into: &events)
            if stallText != nil, stalledBus.isEmpty, stalledInbox.isEmpty {
                log.info("the store accepts writes again")
                stallText = nil
            }
        } catch {
            ending = .storeFailed(error)
        }
    }

    private mutating func advanceOutbox() {
        do throws(StoreError) {
            try outbox.advance(&uplink, at: SystemClock.monotonic, into: &events)
        } catch {
            ending = .storeFailed(error)
        }
    }

    private mutating func publish(_ message: OutgoingMessage) {
        attempt { uplink throws(MQTTError) in _ = try uplink.publish(message) }
    }

    /// Adds to an answer the state that only the loop knows.
    private mutating func completed(
        _ answer: JSONValue, for request: ControlRequest
    ) -> JSONValue {
        switch request {
        case .status: completed(status: outbox.key.completed(status: outbox.completed(answer)))
        case .vault: outbox.key.shown
        case .rekey(let source): rekey(to: source)
        case .queue(let dead): outbox.completed(answer, dead: dead)
        case .session, .pair, .pairNew, .refresh, .logout, .acceptNoPolicy: answer
        }
    }

    private mutating func rekey(to source: String?) -> JSONValue {
        do throws(StoreError) {
            return try outbox.key.rekeyed(to: source)
        } catch {
            // The next start reads from disk which key is in force.
            ending = .storeFailed(error)
            return KeyAnswer.failed("\(error)")
        }
    }

    /// Whether some part of the agent does not work fully.
    var isDegraded: Bool {
        uplink.isDegraded || stallText != nil || outbox.spillFault != nil
            || agent.isUnreadable || agent.isPolicyLost
    }

    private func completed(status: JSONValue) -> JSONValue {
        guard case .object(var members) = status else { return status }
        members["refusedUpstream"] = .integer(outbox.refusals)
        members["policy"] = rulesReport
        members["busShared"] = .bool(bus.hasRival(at: SystemClock.monotonic))
        members["degraded"] = .bool(isDegraded)
        if uplink.isDegraded, members["uplink"] == .string("connected") {
            members["uplinkNote"] = .string("degraded: MQTT 3.1.1, without user properties")
        }
        members["queueFault"] = stallText.map { .string($0) } ?? .null
        return .object(members)
    }

    /// Uses the uplink. If it throws, the connection counts as lost, and a new one is made.
    private mutating func attempt(
        _ body: (inout UplinkLink) throws(MQTTError) -> Void
    ) {
        do throws(MQTTError) {
            try body(&uplink)
        } catch {
            events.append(.uplink(.lost("\(error)")))
        }
    }
}

extension Instant {
    /// The current time of this machine's two clocks.
    package static var current: Instant {
        Instant(
            wall: Timestamp(milliseconds: SystemClock.wallMilliseconds),
            monotonic: SystemClock.monotonic)
    }
}

extension Logger.Level {
    init(_ level: LogSeverity) {
        self = switch level {
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}
