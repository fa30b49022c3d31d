import AgentCore
import AgentStore
import Gate
import LinuxIO
import Logging
import MQTT
package import Sessions
import Wire

/// The agent's one thread: it waits, hands over what happened, and does what it is told.
///
/// It decides nothing but the order of a turn: read, judge and make durable, speak, and only
/// then acknowledge.
struct BoardLoop: ~Copyable {
    enum Ending { case stopped, storeFailed(StoreError), failed(SystemError) }

    var agent: Agent
    var outbox: Outbox
    var bus: BusLink
    var uplink: UplinkLink
    var poller = Poller()
    var events: [AgentEvent] = [.started]
    /// Those of this turn; its memory is used again.
    private var batch: [AgentEvent] = []
    private var ending: Ending?
    /// When memory that only starting needed is given back: soon after the first way up stands.
    var trimAt: Duration?
    private var hasTrimmed = false
    /// Whether something was read on the bus and not looked at: it is not acknowledged.
    private(set) var hasUnjudged = false
    /// What came and waits for the store to have room: on the bus, and on the inbox.
    var stalledBus = StalledEvents(limit: .max)
    var stalledInbox = StalledEvents(limit: 64)
    /// Why the last of it had to wait; nil once something was kept again.
    private(set) var stallText: String?
    /// What a held batch's apps are told once it is safe.
    private var heldAnswers: [BusPublication] = []
    /// Whether the bus has been subscribed and that was not said.
    private var isReadyNews = false
    /// What `status` says of the rules.
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

    /// Runs until it is told to stop or the store fails; then nothing more is acknowledged.
    mutating func run(_ service: inout StandingService) -> Ending {
        rulesReport = service.rules.report
        while true {
            turn(&service.control)
            if let ending {
                if case .storeFailed = ending { return ending }
                return leave(ending, service)
            }
            if isReadyNews { service.sayReady() }
            isReadyNews = false
            // A turn is progress; what stands still in one says nothing.
            service.beat { agent.figures(at: .current).sentence }
            do throws(SystemError) {
                try wait(&service)
            } catch {
                return .failed(error)
            }
        }
    }

    /// Everything that has happened is judged, made durable, spoken and acknowledged.
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

    /// Says and acknowledges on the bus what is durable.
    private mutating func flushBus() {
        tellHeld()
        bus.acknowledge(!outbox.isHolding && stalledBus.isEmpty)
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
        // All of it comes again.
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

    /// What the agent had to say of it is durable by now.
    private mutating func busSettled() {
        do throws(StoreError) {
            // What is held has yet to come again.
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

    /// Why the agent does not see an event yet: what comes of it could not be kept. Should the
    /// store fail all the same, all begins again from disk.
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

    /// The event is tried again in a second. Meanwhile nothing more is read on the bus, and
    /// nothing acknowledged there.
    private mutating func stall(_ event: AgentEvent, _ error: StoreError) {
        let now = SystemClock.monotonic
        switch event {
        case .inbox: stalledInbox.add(event, at: now)
        default: stalledBus.add(event, at: now)
        }
        let text = "nothing is accepted until it can be kept: \(error)"
        if stallText != text { log.error("\(text)") }
        stallText = text
    }

    mutating func tellHeld() {
        guard !outbox.isHolding, !heldAnswers.isEmpty else { return }
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
            if outbox.isHolding, !publication.retain {
                heldAnswers.append(publication)
            } else {
                say(publication)
            }
        case .connectUplink(let login):
            if let event = uplink.connect(login, at: SystemClock.monotonic) { events.append(event) }
        case .disconnectUplink:
            outbox.settle(&uplink, at: SystemClock.monotonic)
            uplink.disconnect()
        case .abandonUplink:
            outbox.settle(&uplink, at: SystemClock.monotonic)
            uplink.abandon()
        case .subscribeInbox(let topic):
            attempt { uplink throws(MQTTError) in try uplink.subscribe(topic) }
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
        case .answer(let connection, let json): control.answer(connection, json)
        case .log(let level, let text): log.log(level: Logger.Level(level), "\(text)")
        case .exit: ending = .stopped
        }
    }

    private mutating func commit(_ changes: [RecordChange]) {
        do throws(StoreError) {
            try outbox.commit(changes, at: SystemClock.monotonic, into: &events)
            if stallText != nil, stalledBus.isEmpty, stalledInbox.isEmpty {
                log.info("the store takes what is accepted again")
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

    /// What only the loop knows of the board's state.
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
            // A life anew from disk knows which key is in force.
            ending = .storeFailed(error)
            return KeyAnswer.failed("\(error)")
        }
    }

    /// Whether something less than everything works.
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

    /// A connection that will not take what it must is given up, and made anew.
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
    /// Both of this machine's clocks, now.
    package static var current: Instant {
        Instant(
            wall: Timestamp(milliseconds: SystemClock.wallMilliseconds),
            monotonic: SystemClock.monotonic)
    }
}

extension Logger.Level {
    init(_ level: LogLevel) {
        self = switch level {
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}
