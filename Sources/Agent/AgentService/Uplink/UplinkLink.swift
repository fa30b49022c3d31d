import AgentCore
import ConfigurationFiles
import Gate
import LinuxIO
import MQTT
import Sessions
import Wire

/// What `agent.toml` says of the upstream broker.
struct UplinkDefaults: Sendable {
    var uri: BrokerURI
    var caFile: String?
    /// Our own certificate, shown where the broker asks.
    var identity: TLSIdentity?
    /// Where the CA certificates of a provisioning are put for libmosquitto to read.
    var learnedCAFile: String
    /// See `KnownBroker`.
    var knownBrokerFile: String
    var allowsPlainText: Bool

    /// Where a login goes, and the CA certificates of the provisioning for that place.
    ///
    /// What it learned of CAs is said of the place it learned of: where that cannot be used,
    /// `agent.toml` has both.
    func place(of login: UplinkLogin) -> (uri: BrokerURI, ca: String?) {
        guard let text = login.uri, let learned = try? BrokerURI(text),
            learned.scheme != .mqtt || learned.isLoopback || allowsPlainText
        else { return (uri, nil) }
        return (learned, login.ca)
    }
}

/// The connection to the upstream broker, and the name lookup before it.
struct UplinkLink: ~Copyable {
    private static let receiveMaximum: UInt16 = 64
    private static let keepAlive: UInt16 = 60
    /// Of an attempt, which all addresses of a name share; each has `leastPatience`.
    private static let patience = Duration.seconds(30)
    private static let leastPatience = Duration.seconds(5)
    /// Of one attempt. The next one begins further on.
    private static let mostAddresses = 8

    private let defaults: UplinkDefaults
    private var connection: Connection?
    private var lookup: HostLookup?
    private var login: UplinkLogin?
    private var slot: Int?
    private var deadline: Duration?
    /// What came of the messages that were published since the last look.
    private(set) var outcomes: [(packetID: Int32, reasonCode: UInt8)] = []
    private(set) var isDegraded = false
    /// Reused for each read.
    private var heard: [ConnectionEvent] = []
    /// How a connection that had been made ended, until it is taken.
    private var end: ConnectionEnd?
    /// Whether the socket is looked at before each read, so that its end can be told.
    var watchesEnd = false
    /// Whether the broker has let this connection in.
    private var isMade = false
    /// What stood at the socket before the last read.
    private var seen = SocketProbe.Peek.nothing
    /// What this board last said of itself, retained.
    private var lastStatus: OutgoingMessage?
    private var version = ProtocolVersion.v5
    private var known: KnownBroker
    /// Of its name's addresses the one that was dialled last; nil of a socket file.
    private var address: String?
    /// Of its name's addresses those that this attempt has still to try.
    private var untried: ArraySlice<String> = []
    /// How long each of them may take.
    private var patience = Duration.zero
    /// What the attempt failed on at the addresses that it has tried.
    private var failure: MQTTError?
    /// How many attempts were made: each begins with the next of a name's addresses.
    private var attempts = 0

    init(_ defaults: UplinkDefaults) {
        self.defaults = defaults
        known = KnownBroker(defaults.knownBrokerFile)
    }

    /// How many messages the broker takes unacknowledged; 0 without a connection.
    var window: Int {
        mutating get { Int(connection?.ack?.receiveMaximum ?? 0) }
    }

    mutating func nextDeadline(at now: Duration) -> Duration? {
        // What OpenSSL has read already, no poll tells of.
        if connection?.hasBufferedInput == true { return now }
        return [deadline, connection?.nextTick.map { now + $0 }].compactMap(\.self).min()
    }

    mutating func takeEnd() -> ConnectionEnd? {
        defer { end = nil }
        return end
    }

    mutating func takeOutcomes() -> [(packetID: Int32, reasonCode: UInt8)] {
        defer { outcomes.removeAll(keepingCapacity: true) }
        return outcomes
    }

    /// Starts one attempt: a lookup first, so that a dead name server stops nothing else.
    mutating func connect(_ login: UplinkLogin, at now: Duration) -> AgentEvent? {
        disconnect()
        self.login = login
        deadline = now + Self.patience
        attempts += 1
        // The broker may be a newer one than it was.
        version = .v5
        let uri = defaults.place(of: login).uri
        guard uri.scheme == .unix else { return lookUp(uri.host) }
        do throws(MQTTError) {
            connection = try dial(login, address: nil)
            return nil
        } catch {
            return failed(error)
        }
    }

    private mutating func lookUp(_ host: String) -> AgentEvent? {
        do throws(SystemError) {
            lookup = try HostLookup(host)
            return nil
        } catch {
            return failed(.nameLookup(error.text))
        }
    }

    mutating func disconnect() {
        if connection?.isConnected == true {
            try? connection?.write()
            try? connection?.disconnect()
            try? connection?.write()
        }
        abandon()
    }

    /// Ends the connection as it stands: what is queued on it is never written.
    mutating func abandon() {
        connection = nil
        lookup = nil
        deadline = nil
        untried = []
        failure = nil
        isDegraded = false
        isMade = false
        lastStatus = nil
        outcomes.removeAll()
    }

    mutating func register(in poller: inout Poller) {
        slot = nil
        if let lookup {
            slot = poller.add(lookup.descriptor, read: true, write: false)
        } else if let descriptor = connection?.descriptor, let interest = connection?.interest {
            slot = poller.add(descriptor, read: interest.read, write: interest.write)
        }
    }

    mutating func collect(
        _ poller: borrowing Poller, at now: Duration, into events: inout [AgentEvent]
    ) {
        do throws(MQTTError) {
            if let deadline, deadline <= now { throw .tcp("no answer in time") }
            if let slot, poller.isReadable(slot) || poller.isWritable(slot) {
                if lookup != nil {
                    try finishLookup(at: now)
                } else {
                    try listen(into: &events)
                }
            } else if connection?.hasBufferedInput == true {
                try listen(into: &events)
            }
            if connection?.nextTick == .zero { try connection?.tick() }
        } catch {
            if !asksOlder(error), !triesNext(error, at: now) { events.append(failed(error)) }
        }
    }

    /// Asks the same broker again at once, by 3.1.1, if it may speak nothing newer. That takes
    /// its turn among the attempts: nobody is told of the one before.
    private mutating func asksOlder(_ error: MQTTError) -> Bool {
        guard version == .v5, !isMade, let login,
            error.suggestsOlderVersion(hasSpoken5: known.isKnown(defaults.place(of: login).uri))
        else { return false }
        version = .v311
        do throws(MQTTError) {
            connection = try dial(login, address: address)
            return true
        } catch {
            return false
        }
    }

    /// Goes on to the next address of the name, as a part of the same attempt: nobody is told
    /// of one that did not let us in, and the login is judged by each that can be reached.
    private mutating func triesNext(_ error: MQTTError, at now: Duration) -> Bool {
        guard !isMade, error.mayBeOfAddress, let login else { return false }
        failure = failure?.orFurther(error) ?? error
        while let next = untried.popFirst() {
            do throws(MQTTError) {
                version = .v5
                connection = try dial(login, address: next)
                deadline = now + patience
                return true
            } catch {
                failure = failure?.orFurther(error) ?? error
            }
        }
        return false
    }

    mutating func flush(into events: inout [AgentEvent]) {
        guard connection?.hasQueuedWrites == true else { return }
        do throws(MQTTError) {
            try connection?.write()
        } catch {
            events.append(failed(error))
        }
    }

    /// Writes what is queued and reads what has come meanwhile, without waiting. False where the
    /// connection is gone.
    mutating func exchange(into events: inout [AgentEvent]) -> Bool {
        flush(into: &events)
        guard connection?.isConnected == true else { return false }
        do throws(MQTTError) {
            try listen(into: &events)
            return true
        } catch {
            events.append(failed(error))
            return false
        }
    }

    mutating func subscribe(_ topic: String) throws(MQTTError) {
        _ = try connection?.subscribe([Subscription(topic, .atLeastOnce)])
    }

    /// Queues a message; its outcome comes under the packet id.
    mutating func publish(_ message: OutgoingMessage) throws(MQTTError) -> Int32 {
        guard connection != nil else { throw .notConnected }
        if message.retain { lastStatus = message }
        return try connection?.publish(message) ?? 0
    }

    /// Says once more what this board last said of itself: a message that the broker has to
    /// acknowledge, and that changes nothing for anyone.
    mutating func repeatStatus() throws(MQTTError) {
        if let lastStatus { _ = try publish(lastStatus) }
    }
}

extension UplinkLink {
    private mutating func failed(_ last: MQTTError) -> AgentEvent {
        let error = isMade || !last.mayBeOfAddress ? last : failure?.orFurther(last) ?? last
        if isMade { end = ConnectionEnd(error, after: seen) }
        let isTakenOver = isMade && error.isTakeover
        isMade = false
        seen = .nothing
        connection = nil
        lookup = nil
        deadline = nil
        untried = []
        failure = nil
        if isTakenOver { return .uplink(.takenOver) }
        let text = "\(error)"
        return .uplink(error.layer == .brokerLogin ? .refused(text) : .lost(text))
    }

    private mutating func finishLookup(at now: Duration) throws(MQTTError) {
        guard let found = lookup, let login else { return }
        switch found.outcome {
        case .pending:
            return
        case .failed(let text):
            throw .nameLookup(text)
        case .found(let addresses):
            lookup = nil
            let first = addresses.isEmpty ? 0 : attempts % addresses.count
            untried = (addresses[first...] + addresses[..<first]).prefix(Self.mostAddresses)
            patience = max(Self.patience / max(1, untried.count), Self.leastPatience)
            deadline = now + patience
            connection = try dial(login, address: untried.popFirst())
        }
    }

    private mutating func dial(
        _ login: UplinkLogin, address: String?
    ) throws(MQTTError) -> Connection {
        self.address = address
        let place = defaults.place(of: login)
        var options = ConnectOptions(
            uri: place.uri, address: address, clientID: login.clientID, version: version,
            keepAlive: Self.keepAlive, receiveMaximum: Self.receiveMaximum,
            maximumPacketSize: 256 * 1024, username: login.username, password: login.password)
        options.tls = TLSOptions(caFile: try caFile(place.ca), identity: defaults.identity)
        // A board without a clock is told the time over this very connection.
        options.tls.isClockSlow = true
        options.will = OutgoingMessage(
            topic: login.will.topic, payload: login.will.payload, qos: .atLeastOnce,
            retain: true)
        var connection = try Connection(options)
        try connection.connect()
        return connection
    }

    private func caFile(_ learned: String?) throws(MQTTError) -> String? {
        guard let pem = learned else { return defaults.caFile }
        do throws(FileFailure) {
            try PrivateFile.write(defaults.learnedCAFile, Array(pem.utf8))
            return defaults.learnedCAFile
        } catch {
            throw .tls("the CA certificates of the provisioning: \(error)")
        }
    }

    private mutating func listen(into events: inout [AgentEvent]) throws(MQTTError) {
        let descriptor = watchesEnd ? connection?.descriptor : nil
        seen = descriptor.map(SocketProbe.peek) ?? .nothing
        try connection?.read(atMost: 1024)
        connection?.takeEvents(into: &heard)
        for event in heard {
            switch event {
            case .connected(let ack):
                isDegraded = ack.version == .v311
                isMade = true
                if ack.version == .v5, let login { known.note(defaults.place(of: login).uri) }
                events.append(.uplink(.connected))
            case .subscribed(_, let codes):
                guard codes.allSatisfy({ $0 < 0x80 }) else {
                    throw .brokerLogin("the inbox may not be subscribed", reasonCode: 0x87)
                }
                deadline = nil
                events.append(.uplink(.ready))
            case .message(let message):
                events.append(.inbox(message.payload))
            case .published(let packetID, let reasonCode):
                outcomes.append((packetID, reasonCode))
            case .refused, .disconnected:
                if let failure = event.failure { throw failure }
            case .unsubscribed:
                break
            }
        }
        seen = .nothing
    }
}

extension ConnectionEnd {
    /// - Parameter seen: what stood at the socket before the read that met the end. Within TLS,
    ///   bytes before the end are the other side's own: nobody on the way can make them.
    init(_ error: MQTTError, after seen: SocketProbe.Peek) {
        switch error {
        case .mqtt(_, let code) where code >= 0x80, .brokerLogin(_, let code) where code >= 0x80:
            self = .told(code)
        case .tcp where seen == .closed, .tls where seen == .closed || seen == .data:
            self = .closed
        default:
            self = .broken
        }
    }
}
