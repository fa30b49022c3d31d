import AgentCore
import ConfigurationFiles
import Gate
import LinuxIO
import MQTT
import Sessions
import Wire

/// The settings of `agent.toml` for the upstream broker.
struct UplinkDefaults: Sendable {
    var uri: BrokerURI
    var caFile: String?
    /// The board's own certificate, sent if the broker asks for it.
    var identity: TLSIdentity?
    /// The file to which the provisioning's CA certificates are written for libmosquitto.
    var learnedCAFile: String
    /// See `KnownBroker`.
    var knownBrokerFile: String
    var allowsPlainText: Bool

    /// The broker address for a login, and the provisioning's CA certificates for it.
    ///
    /// Those certificates are valid only for the address in the provisioning. If that address
    /// cannot be used, both come from `agent.toml`.
    func place(of login: UplinkLogin) -> (uri: BrokerURI, ca: String?) {
        guard let text = login.uri, let learned = try? BrokerURI(text),
            learned.scheme != .mqtt || learned.isLoopback || allowsPlainText
        else { return (uri, nil) }
        return (learned, login.ca)
    }
}

/// The connection to the upstream broker, and the name lookup before it.
struct UplinkLink: ~Copyable {
    private static let ownReceiveMaximum: UInt16 = 64
    private static let keepAlive: UInt16 = 60
    /// The time for one attempt. All addresses of a name share it; each has at least
    /// `leastPatience`.
    private static let patience = Duration.seconds(30)
    private static let leastPatience = Duration.seconds(5)
    /// The most addresses in one attempt. The next attempt begins with the next address.
    private static let mostAddresses = 8

    private let defaults: UplinkDefaults
    private var connection: Connection?
    private var lookup: HostLookup?
    private var login: UplinkLogin?
    private var slot: Int?
    private var deadline: Duration?
    /// The outcomes of published messages since the last call of `takeOutcomes`.
    private(set) var outcomes: [(packetID: Int32, reasonCode: UInt8)] = []
    private(set) var isDegraded = false
    /// Reused for each read.
    private var heard: [ConnectionEvent] = []
    /// How an accepted connection ended, until this is taken.
    private var end: ConnectionEnd?
    /// Whether to look at the socket before each read, to learn how the connection ends.
    var watchesEnd = false
    /// Whether the broker has accepted this connection.
    private var isMade = false
    /// The state of the socket before the last read.
    private var seen = SocketProbe.Peek.nothing
    /// The board's last retained status message.
    private var lastStatus: OutgoingMessage?
    /// The packet of the join request that waits for its acknowledgement.
    private var joinPacket: Int32?
    private var version = ProtocolVersion.v5
    private var known: KnownBroker
    /// The address that was dialled last; nil for a socket file.
    private var address: String?
    /// The addresses of the name that this attempt has not tried yet.
    private var untried: ArraySlice<String> = []
    /// The time for each address.
    private var patience = Duration.zero
    /// The error of this attempt at the addresses tried so far.
    private var failure: MQTTError?
    /// The number of attempts. Each begins with the next address of the name.
    private var attempts = 0

    init(_ defaults: UplinkDefaults) {
        self.defaults = defaults
        known = KnownBroker(defaults.knownBrokerFile)
    }

    /// The broker's Receive Maximum; 0 without a connection.
    var receiveMaximum: Int {
        mutating get { Int(connection?.ack?.receiveMaximum ?? 0) }
    }

    mutating func nextDeadline(at now: Duration) -> Duration? {
        // OpenSSL may have buffered input that no poll reports.
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

    /// Starts one attempt, with an asynchronous name lookup first, so that a dead name server
    /// blocks nothing else.
    mutating func connect(_ login: UplinkLogin, at now: Duration) -> AgentEvent? {
        disconnect()
        self.login = login
        deadline = now + Self.patience
        attempts += 1
        // The broker may have been upgraded since.
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

    /// Ends the connection at once. Queued packets are never written.
    mutating func abandon() {
        connection = nil
        lookup = nil
        deadline = nil
        untried = []
        failure = nil
        isDegraded = false
        isMade = false
        lastStatus = nil
        joinPacket = nil
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

    /// Tries the same broker again at once with MQTT 3.1.1, if it may not support MQTT 5. Both
    /// tries are one attempt, so no event reports the first one.
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

    /// Tries the next address of the name within the same attempt. No event reports an address
    /// that failed. The login is tried at each address that can be reached.
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

    /// Writes queued packets and reads what has arrived, without waiting. Returns false if the
    /// connection is lost.
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

    /// Queues a message. Its outcome is reported under the returned packet id.
    mutating func publish(_ message: OutgoingMessage) throws(MQTTError) -> Int32 {
        guard connection != nil else { throw .notConnected }
        if message.retain { lastStatus = message }
        return try connection?.publish(message) ?? 0
    }

    /// Queues the join request. Its acknowledgement is an event, and not among the outcomes.
    mutating func ask(_ message: OutgoingMessage) throws(MQTTError) {
        joinPacket = try publish(message)
    }

    /// Publishes the last status again. The broker must acknowledge it, and it changes nothing for
    /// any reader.
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
            keepAlive: Self.keepAlive, receiveMaximum: Self.ownReceiveMaximum,
            maximumPacketSize: 256 * 1024, username: login.username, password: login.password)
        options.tls = TLSOptions(caFile: try caFile(place.ca), identity: defaults.identity)
        // A board without a set clock receives the time over this connection.
        options.tls.isClockSlow = true
        options.will = login.will.map { will in
            OutgoingMessage(
                topic: will.topic, payload: will.payload, qos: .atLeastOnce, retain: true)
        }
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
            case .published(let packetID, let reasonCode) where packetID == joinPacket:
                guard reasonCode < 0x80 else {
                    throw .brokerLogin("it may not ask to join", reasonCode: reasonCode)
                }
                // 0x10: no matching subscribers.
                events.append(.uplink(reasonCode == 0x10 ? .unheard : .asked))
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
    /// - Parameter seen: the state of the socket before the read that met the end. Within TLS,
    ///   data before the end comes from the broker itself: nobody on the path can forge it.
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
