import AgentCore
import LinuxIO
import MQTT
import Sessions
import Wire

/// The two connections to the board's own broker.
///
/// One is read and acknowledges, and does nothing else: PUBACKs stand in one queue, so none
/// could be withheld if it also spoke. The other speaks. The reading one has a durable session
/// at the broker and no keep-alive, so that it may rest while the outbox is full.
struct BusLink: ~Copyable {
    /// One Receive Maximum: what may be on its way when reading stops, and the most that one
    /// commit takes. On a card that syncs in 50 ms four times as many carry four times as much.
    static let receiveMaximum: UInt16 = 1024
    /// The longest packet that is taken; the broker is told.
    private static let packetLimit: UInt32 = 1 << 20
    /// Payloads of a batch, after which only the packet that passed it is added.
    private static let batchBytes = 512 * 1024
    /// The most that one batch can add to the outbox, with what a row takes beside its payload.
    static let batchReserve = Int64(packetLimit) + Int64(batchBytes) + Int64(receiveMaximum) * 512
    /// How long the way to the SUBACK may take.
    private static let patience = Duration.seconds(10)

    private var login: BusLogin
    private var speaker: Connection?
    private var reader: Connection?
    private var speakerSlot: Int?
    private var readerSlot: Int?
    private var retryAt: Duration? = .zero
    /// When a connection without a SUBACK is given up.
    private var connectDeadline: Duration?
    private var answers = AnswerRoom()
    private var retries = BusRetries()
    private var rival = BusRival()
    private var subscribedAt: Duration?
    /// One that ends sooner is no reason to come back at once: of two agents under one id each
    /// ends the other's, and mosquitto 2.0.11 does not say why.
    private static let standing = Duration.seconds(5)
    private var isResumed = false
    private var isSubscribed = false
    /// The subscription of a new connection; nil until it is sent.
    private var subscription: Int32?
    /// What the broker's durable session may still hold and nobody wants.
    private var unwanted: Set<String> = []
    /// Something for the log that ends nothing.
    private var complaint: String?
    private var isReading = true
    /// Whether what comes can wait for a moment, although it is read.
    var mayWait = false
    /// Whether all that comes stays with the broker: it is neither taken nor acknowledged.
    private var isHolding = false
    /// Whether what was read may be acknowledged. Until then no more is read.
    private var acknowledges = true
    private var failure = ""
    /// Reused for each read.
    private var heard: [ConnectionEvent] = []

    init(_ login: BusLogin) { self.login = login }

    /// Whether requests are subscribed and answers can be given.
    var isUp: Bool { isSubscribed }

    /// Whether another agent uses this board's identity on this bus.
    func hasRival(at now: Duration) -> Bool { rival.isThere(at: now) }

    mutating func nextDeadline(at now: Duration) -> Duration? {
        let isWaiting = speaker?.hasBufferedInput == true || readerHasBufferedInput
        return isWaiting ? now : [retryAt, connectDeadline].compactMap(\.self).min()
    }

    /// Whether every answer is in the broker's hands or on its way there. What is beyond its
    /// Receive Maximum waits in this process: the writes that it answers must not be acknowledged
    /// before, or an end of the process would leave them unanswered for ever.
    private var answersAreOut: Bool {
        mutating get {
            guard let limit = speaker?.ack?.receiveMaximum, let count = speaker?.unacknowledged
            else { return true }
            return count <= Int(limit)
        }
    }

    private var wantsInput: Bool {
        mutating get {
            if isHolding { return !isSubscribed }
            return acknowledges && answersAreOut && (isReading && !mayWait || !isSubscribed)
        }
    }

    /// What OpenSSL has read already, no poll tells of.
    private var readerHasBufferedInput: Bool {
        mutating get { wantsInput && reader?.hasBufferedInput == true }
    }

    mutating func read(_ isWanted: Bool) { isReading = isWanted }

    /// Takes nothing that comes, from before the first connection on; or all again, over a new
    /// connection: what came has no PUBACK.
    mutating func hold(
        _ isWanted: Bool, at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        guard isWanted != isHolding else { return nil }
        isHolding = isWanted
        guard !isWanted, reader != nil else { return nil }
        events.append(.busLost)
        reader = nil
        isSubscribed = false
        subscription = nil
        connectDeadline = now + Self.patience
        do throws(MQTTError) {
            try connectReader()
        } catch {
            return lost(error, at: now, into: &events)
        }
        return nil
    }

    mutating func acknowledge(_ isWanted: Bool) { acknowledges = isWanted }

    /// Reads these topics of other programs from now on, beside the agent's own. What a new
    /// route is refused by the broker is said; the rest goes on.
    mutating func readRoutes(
        _ filters: [String], at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        let old = Set(login.filters)
        login.filters = BusTopic.requests + filters
        unwanted = unwanted.union(old).subtracting(login.filters)
        // A connection that has not subscribed yet will, with what is wanted by then.
        guard subscription != nil else { return nil }
        do throws(MQTTError) {
            let added = Set(filters).subtracting(old).sorted()
            if !added.isEmpty {
                _ = try reader?.subscribe(
                    added.map { Subscription($0, .atLeastOnce) }, sendRetained: false)
            }
            try dropUnwanted()
            return nil
        } catch {
            return lost(error, at: now, into: &events)
        }
    }

    mutating func register(in poller: inout Poller) {
        speakerSlot = nil
        readerSlot = nil
        if let descriptor = speaker?.descriptor, let interest = speaker?.interest {
            speakerSlot = poller.add(descriptor, read: interest.read, write: interest.write)
        }
        // A paused reader is polled for nothing: not even its end is looked at.
        if wantsInput, let descriptor = reader?.descriptor, let interest = reader?.interest {
            readerSlot = poller.add(descriptor, read: interest.read, write: interest.write)
        }
    }

    /// Reads what has come and returns it as events, in order.
    mutating func collect(
        _ poller: borrowing Poller, at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        do throws(MQTTError) {
            if let due = connectDeadline, due <= now { throw .tcp("no subscription within 10 s") }
            try connectIfDue(at: now)
            if isReady(poller, speakerSlot) || speaker?.hasBufferedInput == true {
                try listenToSpeaker(into: &events)
            }
            if isReady(poller, readerSlot) || readerHasBufferedInput {
                try listen(at: now, into: &events)
            }
            defer { complaint = nil }
            return complaint
        } catch {
            return lost(error, at: now, into: &events)
        }
    }

    private func isReady(_ poller: borrowing Poller, _ slot: Int?) -> Bool {
        guard let slot else { return false }
        return poller.isReadable(slot) || poller.isWritable(slot)
    }

    /// Queues a publication; without a connection it is left, as retained ones are said anew
    /// at the next connect and an answer's asker will ask again.
    ///
    /// An answer that there is no room for is left, too. A retained publication is what the
    /// board's state is read from: if that cannot be said, the link ends and begins anew.
    mutating func publish(
        _ publication: BusPublication, at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        // The reader is there only once the speaker has its CONNACK. A resumed session brings
        // requests before the SUBACK: their answers must not wait for it.
        guard reader != nil, let count = speaker?.unacknowledged else { return nil }
        if !publication.retain {
            guard count < 10_000, answers.hasRoom(for: publication),
                BusPublication.carries(publication.correlation)
            else { return nil }
        }
        do throws(MQTTError) {
            try send(publication)
            return nil
        } catch {
            return publication.retain ? lost(error, at: now, into: &events) : nil
        }
    }

    private mutating func send(_ publication: BusPublication) throws(MQTTError) {
        let message = OutgoingMessage(
            topic: publication.topic, payload: publication.payload, qos: .atLeastOnce,
            retain: publication.retain,
            properties: MessageProperties(correlationData: publication.correlation))
        guard let packetID = try speaker?.publish(message) else { return }
        answers.add(publication, as: packetID)
    }

    /// Sends the answers, and then the acknowledgements of what is durable by now.
    mutating func flush(at now: Duration, into events: inout [AgentEvent]) -> String? {
        do throws(MQTTError) {
            if speaker?.hasQueuedWrites == true { try speaker?.write() }
            // While all is held, only what comes before the first PUBACK is sent.
            let mayWrite = isHolding ? subscription == nil : acknowledges && answersAreOut
            if mayWrite, reader?.hasQueuedWrites == true { try reader?.write() }
            return nil
        } catch {
            return lost(error, at: now, into: &events)
        }
    }

    /// How long the last answers may take to leave.
    private static let farewell = Duration.milliseconds(500)

    /// Says goodbye; what was not acknowledged comes again.
    mutating func close() {
        do throws(MQTTError) {
            try drain(until: SystemClock.monotonic + Self.farewell)
            if acknowledges, answersAreOut, !isHolding { try reader?.write() }
        } catch {
            // The broker has gone first: it repeats what it has no acknowledgement of.
        }
        try? speaker?.write()
        try? speaker?.disconnect()
        try? speaker?.write()
        speaker = nil
        reader = nil
    }
}

extension BusLink {
    /// Sends what answers there are, as far as the broker takes them.
    private mutating func drain(until end: Duration) throws(MQTTError) {
        var poller = Poller()
        var ignored: [AgentEvent] = []
        while !answersAreOut, let descriptor = speaker?.descriptor,
            let interest = speaker?.interest
        {
            let left = end - SystemClock.monotonic
            guard left > .zero else { return }
            poller.clear()
            poller.add(descriptor, read: true, write: interest.write)
            _ = try? poller.wait(left)
            try listenToSpeaker(into: &ignored)
            if speaker?.hasQueuedWrites == true { try speaker?.write() }
        }
    }

    /// The speaker first: an answer must have a way before a request is read.
    private mutating func connectIfDue(at now: Duration) throws(MQTTError) {
        guard speaker == nil, let due = retryAt, due <= now else { return }
        retryAt = nil
        connectDeadline = now + Self.patience
        var options = ConnectOptions(
            uri: login.uri, clientID: login.clientName.reveal("answers"), keepAlive: 0,
            username: login.username, password: login.password, tls: login.tls)
        options.will = OutgoingMessage(
            topic: BusTopic.health, payload: login.will, qos: .atLeastOnce, retain: true)
        var connection = try Connection(options)
        try connection.connect()
        speaker = consume connection
    }

    private mutating func connectReader() throws(MQTTError) {
        var connection = try Connection(ConnectOptions(
            uri: login.uri, clientID: login.clientName.reveal("requests"),
            cleanStart: false, sessionExpiry: .max, keepAlive: 0,
            receiveMaximum: Self.receiveMaximum, maximumPacketSize: Self.packetLimit,
            username: login.username, password: login.password, tls: login.tls))
        try connection.connect()
        reader = consume connection
    }

    private mutating func dropUnwanted() throws(MQTTError) {
        guard !unwanted.isEmpty else { return }
        _ = try reader?.unsubscribe(unwanted.sorted())
        unwanted.removeAll()
    }

    private mutating func listenToSpeaker(
        into events: inout [AgentEvent]
    ) throws(MQTTError) {
        try speaker?.read(atMost: 64)
        speaker?.takeEvents(into: &heard)
        for event in heard {
            if case .connected = event {
                try connectReader()
                _ = try speaker?.subscribe(
                    BrokerFigures.topics.map { Subscription($0, .atMostOnce) })
            }
            if case .message(let message) = event, let told = BrokerFigures.event(of: message) {
                events.append(told)
            }
            if case .published(let packetID, _) = event { answers.settle(packetID) }
            if let failure = event.failure { throw failure }
        }
    }

    private mutating func listen(
        at now: Duration, into events: inout [AgentEvent]
    ) throws(MQTTError) {
        // The CONNACK alone where all is held: SUBSCRIBE must leave before a PUBACK is queued.
        let limit = isHolding && subscription == nil ? 1 : Int(Self.receiveMaximum)
        try reader?.read(atMost: limit, bytes: Self.batchBytes)
        reader?.takeEvents(into: &heard)
        defer { heard.removeAll(keepingCapacity: true) }
        var batch: [BusMessage] = []
        batch.reserveCapacity(heard.count)
        for event in heard {
            switch event {
            case .connected(let ack):
                isResumed = ack.sessionPresent
                subscription = try reader?.subscribe(
                    login.filters.map { Subscription($0, .atLeastOnce) },
                    sendRetained: false)
                try dropUnwanted()
                if isHolding { try reader?.write() }
            case .subscribed(let packetID, let codes) where packetID != subscription:
                if !codes.allSatisfy({ $0 < 0x80 }) {
                    complaint = "the local broker refused to subscribe a new route's topic"
                }
            case .subscribed(_, let codes):
                // The agent's own topics come first. A route that is refused costs itself alone.
                guard codes.prefix(BusTopic.requests.count).allSatisfy({ $0 < 0x80 }) else {
                    throw .invalid("the local broker refused a subscription")
                }
                if !codes.allSatisfy({ $0 < 0x80 }) {
                    complaint = "the local broker refused to subscribe a route's topic"
                }
                isSubscribed = true
                connectDeadline = nil
                subscribedAt = now
                failure = ""
                // What was read before the SUBACK may be a redelivery; what follows is not.
                if !batch.isEmpty { events.append(.bus(batch)) }
                batch.removeAll()
                events.append(.busConnected(resumed: isResumed))
            case .message where isHolding: break
            case .message(let message):
                batch.append(BusMessage(message))
            case .refused, .disconnected:
                if !batch.isEmpty { events.append(.bus(batch)) }
                if let failure = event.failure { throw failure }
            case .published, .unsubscribed:
                break
            }
        }
        if !batch.isEmpty { events.append(.bus(batch)) }
    }

    /// Both connections end together. Returns a sentence for the log, if it is news.
    private mutating func lost(
        _ error: MQTTError, at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        // Redeliveries that came before a SUBACK come once more.
        if reader != nil { events.append(.busLost) }
        speaker = nil
        reader = nil
        connectDeadline = nil
        answers = AnswerRoom()
        isSubscribed = false
        defer { subscription = nil }
        if let since = subscribedAt, now - since >= Self.standing { retries.hasStood() }
        subscribedAt = nil
        if error.isTakeover {
            let (wait, isNews) = rival.tookPlace(at: now, share: .random(in: 0...1))
            retryAt = now + wait
            return isNews ? "the local broker (\(login.uri)): \(BusRival.words)" : nil
        }
        retryAt = now + retries.wait(
            after: error, wasLetIn: subscription != nil, share: .random(in: 0...1))
        let text = "the local broker (\(login.uri)): \(error)"
        defer { failure = text }
        return text == failure ? nil : text
    }
}

extension BusMessage {
    init(_ message: IncomingMessage) {
        self.init(
            topic: message.topic, payload: message.payload, isRetained: message.retain,
            packetID: message.qos == .atMostOnce ? nil : message.packetID,
            responseTopic: message.properties.responseTopic,
            correlation: message.properties.correlationData)
    }
}
