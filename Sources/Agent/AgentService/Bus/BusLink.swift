import AgentCore
import LinuxIO
import MQTT
import Sessions
import Wire

/// The two connections to the local broker.
///
/// The reader only reads and acknowledges; the speaker publishes. PUBACKs share one queue with
/// other packets, so a connection that also published could not hold them back. The reader has a
/// durable session and no keep-alive, so it may pause while the outbox is full. The speaker reads
/// only topics that cannot be a request.
struct BusLink: ~Copyable {
    /// The reader's Receive Maximum: the most messages in transit when reading stops, and the most
    /// in one commit. With a sync of 50 ms, four times as many give four times the throughput.
    static let receiveMaximum: UInt16 = 1024
    /// The longest packet that the agent takes, in bytes. The broker receives this limit.
    private static let packetLimit: UInt32 = 1 << 20
    /// The payload bytes after which a batch ends. The packet that passes this limit is still
    /// added.
    static let batchBytes = 512 * 1024
    /// The most bytes that one batch can add to the outbox, including the rows' overhead.
    static let batchReserve = Int64(packetLimit) + Int64(batchBytes) + Int64(receiveMaximum) * 512
    /// How long connecting may take, up to the SUBACK.
    private static let patience = Duration.seconds(10)

    private var login: BusLogin
    var speaker: Connection?
    var reader: Connection?
    private var speakerSlot: Int?
    private var readerSlot: Int?
    private var retryAt: Duration? = .zero
    /// When a connection without a SUBACK is given up.
    private var connectDeadline: Duration?
    var answers = AnswerLimit()
    /// The commands that have no PUBACK yet, by packet id.
    var handOvers: [Int32: MessageID] = [:]
    private var retries = BusRetries()
    private var rival = BusRival()
    private var subscribedAt: Duration?
    /// A connection that ends sooner does not reset the backoff: of two agents with one client id
    /// each ends the other's, and mosquitto 2.0.11 gives no reason.
    private static let standing = Duration.seconds(5)
    private var isResumed = false
    private var isSubscribed = false
    /// The subscription of a new connection; nil until it is sent.
    private var subscription: Int32?
    /// Topics that the broker's durable session may still subscribe and that are no longer wanted.
    private var unwanted: Set<String> = []
    /// A warning for the log that does not end the connection.
    private var complaint: String?
    private var isReading = true
    /// Whether reading pauses for a moment, until the last batch has left: see `CatchingUp`.
    var mayWait = false
    /// Whether the bus is on hold: messages are neither taken nor acknowledged.
    private var isHolding = false
    /// Whether messages already read may be acknowledged. Until then no more are read.
    private var acknowledges = true
    private var failure = ""
    /// Reused for each read.
    var heard: [ConnectionEvent] = []

    init(_ login: BusLogin) { self.login = login }

    /// Whether requests are subscribed and answers can be given.
    var isUp: Bool { isSubscribed }

    /// Whether another agent uses this board's identity on this bus.
    func hasRival(at now: Duration) -> Bool { rival.isThere(at: now) }

    mutating func nextDeadline(at now: Duration) -> Duration? {
        let isWaiting = speaker?.hasBufferedInput == true || readerHasBufferedInput
        return isWaiting ? now : [retryAt, connectDeadline].compactMap(\.self).min()
    }

    /// Whether every answer is at the broker or on its way there. Answers beyond the broker's
    /// Receive Maximum wait in this process. Their writes are not acknowledged yet: if the process
    /// ended, the answers would be lost.
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

    /// OpenSSL may have buffered input that no poll reports.
    private var readerHasBufferedInput: Bool {
        mutating get { wantsInput && reader?.hasBufferedInput == true }
    }

    mutating func read(_ isWanted: Bool) { isReading = isWanted }

    /// Starts a hold, before the first connection, or ends it. The end makes a new connection,
    /// over which the broker repeats what has no PUBACK.
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

    /// Reads these foreign topics from now on, beside the agent's own. If the broker refuses a new
    /// route, that becomes a warning and all other topics go on.
    mutating func readRoutes(
        _ filters: [String], at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        let old = Set(login.filters)
        login.filters = BusTopic.requests + filters
        unwanted = unwanted.union(old).subtracting(login.filters)
        // A connection that has not subscribed yet will use the new filters.
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
        // A paused reader is not polled at all, not even for its end.
        if wantsInput, let descriptor = reader?.descriptor, let interest = reader?.interest {
            readerSlot = poller.add(descriptor, read: interest.read, write: interest.write)
        }
    }

    /// Reads and adds events, in order. Returns a warning for the log.
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

    /// Queues a publication. Without a connection it is dropped: retained ones are published again
    /// at the next connect, and apps repeat their requests. An answer without room is dropped,
    /// too. A failed retained publication ends the link, because it shows the board's state.
    mutating func publish(
        _ publication: BusPublication, at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        // The reader exists only after the speaker's CONNACK. A resumed session delivers requests
        // before the SUBACK; their answers must not wait for it.
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

    /// Sends the answers, and then the PUBACKs of durable messages.
    mutating func flush(at now: Duration, into events: inout [AgentEvent]) -> String? {
        do throws(MQTTError) {
            if speaker?.hasQueuedWrites == true { try speaker?.write() }
            // While the bus is on hold, only packets before the first PUBACK are sent.
            let mayWrite = isHolding ? subscription == nil : acknowledges && answersAreOut
            if mayWrite, reader?.hasQueuedWrites == true { try reader?.write() }
            return nil
        } catch {
            return lost(error, at: now, into: &events)
        }
    }

    /// How long the last answers may take to be sent.
    private static let farewell = Duration.milliseconds(500)

    /// Disconnects. The broker repeats messages that were not acknowledged.
    mutating func close() {
        do throws(MQTTError) {
            try drain(until: SystemClock.monotonic + Self.farewell)
            if acknowledges, answersAreOut, !isHolding { try reader?.write() }
        } catch {
            // The broker ended first. It repeats messages that have no PUBACK.
        }
        try? speaker?.write()
        try? speaker?.disconnect()
        try? speaker?.write()
        speaker = nil
        reader = nil
    }
}

extension BusLink {
    /// Sends waiting answers as far as the broker accepts them, until `end`.
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

    /// Connects the speaker first, so that requests can be answered when they are read.
    private mutating func connectIfDue(at now: Duration) throws(MQTTError) {
        guard speaker == nil, let due = retryAt, due <= now else { return }
        retryAt = nil
        connectDeadline = now + Self.patience
        var options = ConnectOptions(
            uri: login.uri, clientID: login.clientName.reveal("answers"), keepAlive: 0,
            maximumPacketSize: Self.packetLimit, username: login.username,
            password: login.password, tls: login.tls)
        options.will = OutgoingMessage(
            topic: BusTopic.health, payload: login.will, qos: .atLeastOnce, retain: true)
        var connection = try Connection(options)
        try connection.connect()
        speaker = consume connection
    }

    mutating func connectReader() throws(MQTTError) {
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

    private mutating func listen(
        at now: Duration, into events: inout [AgentEvent]
    ) throws(MQTTError) {
        // On hold, read the CONNACK alone: SUBSCRIBE must leave before a PUBACK is queued.
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
                // The agent's own topics come first. A refused route affects no other topic.
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
                // Messages before the SUBACK may be redeliveries; later ones are not.
                if !batch.isEmpty { events.append(.bus(batch)) }
                batch.removeAll()
                events.append(.busConnected(resumed: isResumed))
            case .message where isHolding: break
            case .message(let message):
                let read = BusMessage(message)
                // Before the SUBACK the agent counts each packet, to know the redeliveries.
                if !isSubscribed || !read.isEcho { batch.append(read) }
            case .refused, .disconnected:
                if !batch.isEmpty { events.append(.bus(batch)) }
                if let failure = event.failure { throw failure }
            case .published, .unsubscribed:
                break
            }
        }
        if !batch.isEmpty { events.append(.bus(batch)) }
    }

    /// Ends both connections. Returns a warning for the log, if it is a new one.
    mutating func lost(
        _ error: MQTTError, at now: Duration, into events: inout [AgentEvent]
    ) -> String? {
        for id in handOvers.values { events.append(.commandPublished(id, .lost)) }
        handOvers.removeAll()
        // Redeliveries that came before a SUBACK are delivered once more.
        if reader != nil { events.append(.busLost) }
        speaker = nil
        reader = nil
        connectDeadline = nil
        answers = AnswerLimit()
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
