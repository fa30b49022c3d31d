import AgentCore
import BoardStore
import Gate
import LinuxIO
import Logging
import Mosquitto
import Sessions
import Wire

/// The agent's one thread: it waits, hands over what happened, and does what it is told.
///
/// It decides nothing but the order of a turn: read, judge and make durable, speak, and only
/// then acknowledge.
struct BoardLoop: ~Copyable {
    enum Ending { case stopped, storeFailed(StoreError) }

    private var agent: Agent
    private let storage: BoardStorage
    private var bus: BusLink
    private var uplink: UplinkLink
    private var forwarder = Forwarder()
    private var poller = Poller()
    private var events: [AgentEvent] = [.started]
    private var ending: Ending?
    private var hasSaidReady = false
    /// How many refusals the log hears of next.
    private var nextRefusalSaid: Int64 = 1
    private let notifier: Notifier
    private let log: Logger

    init(
        agent: Agent, storage: BoardStorage, bus: consuming BusLink,
        uplink: consuming UplinkLink, notifier: Notifier, log: Logger
    ) {
        self.agent = agent
        self.storage = storage
        self.bus = bus
        self.uplink = uplink
        self.notifier = notifier
        self.log = log
    }

    /// Runs until it is told to stop or the store fails; then nothing more is acknowledged.
    mutating func run(
        _ signals: borrowing SignalDescriptor, _ control: inout ControlServer,
        reload: () -> AgentEvent?
    ) -> Ending {
        while true {
            turn(&control)
            if let ending {
                if case .storeFailed = ending { return ending }
                leave()
                return ending
            }
            do throws(SystemError) {
                try wait(signals, &control, reload: reload)
            } catch {
                log.error("waiting failed: \(error)")
                return .stopped
            }
        }
    }

    /// Everything that has happened is judged, made durable, spoken and acknowledged.
    private mutating func turn(_ control: inout ControlServer) {
        repeat {
            let batch = events
            events.removeAll(keepingCapacity: true)
            for event in batch where ending == nil { handle(event, &control) }
            if ending != nil { return }
            forward()
            uplink.flush(into: &events)
            if let text = bus.flush(at: SystemClock.monotonic, into: &events) {
                log.warning("\(text)")
            }
        } while !events.isEmpty
    }

    private mutating func handle(_ event: AgentEvent, _ control: inout ControlServer) {
        if case .busConnected = event { sayReady() }
        for effect in agent.handle(event, at: .current) {
            if case .control(.status, _) = event, case .answer(let connection, let json) = effect {
                control.answer(connection, completed(json))
            } else {
                perform(effect, &control)
            }
            if ending != nil { return }
        }
    }

    private mutating func perform(_ effect: AgentEffect, _ control: inout ControlServer) {
        switch effect {
        case .commit(let changes): commit(changes)
        case .publishBus(let publication): bus.publish(publication)
        case .connectUplink(let login):
            if let event = uplink.connect(login, at: SystemClock.monotonic) { events.append(event) }
        case .disconnectUplink:
            settle()
            uplink.disconnect()
        case .subscribeInbox(let topic):
            attempt { uplink throws(MQTTError) in try uplink.subscribe(topic) }
        case .send(let topic, let payload):
            publish(OutgoingMessage(
                topic: topic, payload: payload, qos: .atLeastOnce, retain: false))
        case .publishStatus(let topic, let status):
            publish(OutgoingMessage(
                topic: topic, payload: status.payload, qos: .atLeastOnce, retain: true))
        case .forward(let user):
            settle()
            forwarder.forward(user)
        case .readBus(let isWanted): bus.read(isWanted)
        case .answer(let connection, let json): control.answer(connection, json)
        case .log(let level, let text): log.log(level: Logger.Level(level), "\(text)")
        case .exit: ending = .stopped
        }
    }

    private mutating func commit(_ changes: [RecordChange]) {
        do throws(StoreError) {
            try storage.commit(changes)
            events.append(.queue(storage.queue))
        } catch {
            ending = .storeFailed(error)
        }
    }

    private mutating func publish(_ message: OutgoingMessage) {
        attempt { uplink throws(MQTTError) in _ = try uplink.publish(message) }
    }

    /// What only the loop knows of the board's state.
    private func completed(_ status: JSONValue) -> JSONValue {
        guard case .object(var members) = status else { return status }
        members["refusedUpstream"] = .integer(forwarder.refusals)
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

extension BoardLoop {
    private mutating func wait(
        _ signals: borrowing SignalDescriptor, _ control: inout ControlServer,
        reload: () -> AgentEvent?
    ) throws(SystemError) {
        poller.clear()
        let signalSlot = poller.add(signals.descriptor, read: true, write: false)
        bus.register(in: &poller)
        uplink.register(in: &poller)
        control.register(in: &poller)
        let now = Instant.current
        let deadline = [
            agent.nextDeadline(at: now), bus.nextDeadline,
            uplink.nextDeadline(at: now.monotonic), forwarder.nextDeadline,
        ].compactMap(\.self).min()
        _ = try poller.wait(deadline.map { max($0 - now.monotonic, .zero) })
        while poller.isReadable(signalSlot), let signal = signals.next() {
            if signal == .hangUp {
                if let event = reload() { events.append(event) }
            } else {
                events.append(.stop)
            }
        }
        let woken = SystemClock.monotonic
        uplink.collect(poller, at: woken, into: &events)
        if let text = bus.collect(poller, at: woken, into: &events) { log.warning("\(text)") }
        control.collect(poller, into: &events)
        events.append(.deadline)
        notifier.watchdog()
    }

    /// Books what the broker has acknowledged, before anything makes it forgotten: a PUBACK may
    /// come in one read with the end of the session.
    private mutating func settle() {
        forwarder.settle(uplink.takeOutcomes(), at: SystemClock.monotonic)
    }

    /// Removes what has arrived upstream, and sends what the window has room for.
    private mutating func forward() {
        let now = SystemClock.monotonic
        forwarder.wake(at: now)
        settle()
        do throws(StoreError) {
            let done = forwarder.takeAcknowledged()
            if !done.isEmpty {
                try storage.queueReader.transact([.remove(done)])
                events.append(.queue(storage.queue))
            }
            let room = forwarder.room(window: uplink.window)
            if room > 0, storage.queue.messages > 0 {
                send(try storage.queueReader.next(after: forwarder.position, limit: room), at: now)
            }
        } catch {
            ending = .storeFailed(error)
        }
        sayRefusals()
    }

    /// Stops at the first write that the connection, not the write, is at fault for.
    private mutating func send(_ writes: [AcceptedWrite], at now: Duration) {
        for write in writes {
            guard forwarder.mayForward(write) else {
                forwarder.skip(write.sequence)
                continue
            }
            do throws(MQTTError) {
                forwarder.sent(write.sequence, as: try uplink.publish(write.message))
            } catch {
                switch error {
                case .tooLarge, .invalid: forwarder.refuse(write.sequence, "\(error)", at: now)
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
            not taken upstream, kept and tried again in 10 minutes: \(forwarder.lastRefusal); \
            \(forwarder.refusals) so far
            """)
    }

    private mutating func sayReady() {
        notifier.ready()
        guard !hasSaidReady else { return }
        hasSaidReady = true
        // A line of its own, without a time or a level: scripts wait for it.
        ProcessEnd.say("ready", to: .error)
    }

    private mutating func leave() {
        notifier.stopping()
        bus.close()
        uplink.disconnect()
    }
}

extension Instant {
    /// Both of this machine's clocks, now.
    static var current: Instant {
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
