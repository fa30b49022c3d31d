import LinuxIO
import Wire

/// The thread of a `BrokerClient`: it looks the name up, connects, serves and ends. It blocks only
/// in `wait`.
struct ClientLoop: ~Copyable {
    private let mailbox: Mailbox
    private let deadline: Duration
    /// The deadline for the present address to answer.
    private var addressDeadline: Duration
    private var poller = Poller()
    private var waiting: [Int32: CommandReply] = [:]
    private var backlog: [Command] = []
    private var events: [ConnectionEvent] = []
    private var closingUntil: Duration?
    private var wasConnected = false
    /// Nil: messages are acknowledged when they are read.
    private let batches: BatchLimit?
    /// Whether a batch waits for `acknowledge`. Meanwhile nothing is read or written: its PUBACKs
    /// are in the same queue as all other packets, and before them.
    private var isHolding = false

    /// The largest number of messages that one turn reads, without a `BatchLimit`.
    private static let messagesOfTurn = 1000
    private static let bytesOfTurn = 1 << 20
    /// The time limit for sending DISCONNECT.
    private static let farewell = Duration.seconds(1)

    /// Runs until the connection has ended, then fails every waiting command.
    static func run(
        _ options: ConnectOptions, _ timeout: Duration, _ mailbox: Mailbox,
        _ batches: BatchLimit? = nil
    ) {
        var loop = ClientLoop(mailbox, batches, deadline: SystemClock.monotonic + timeout)
        let error = loop.live(options)
        for command in loop.backlog {
            command.reply?.resume(returning: .failure(.notConnected))
        }
        for reply in loop.waiting.values { reply.resume(returning: .failure(error)) }
        mailbox.finish(error)
    }

    private init(_ mailbox: Mailbox, _ batches: BatchLimit?, deadline: Duration) {
        self.mailbox = mailbox
        self.batches = batches
        self.deadline = deadline
        addressDeadline = deadline
    }

    private mutating func live(_ options: ConnectOptions) -> MQTTError {
        do throws(MQTTError) {
            return attempt(options, at: try addresses(options))
        } catch {
            return error
        }
    }

    /// Tries the addresses in turn, until the broker accepts or refuses the login. Each address has
    /// a share of the time, so an address that never answers does not block the others.
    private mutating func attempt(
        _ options: ConnectOptions, at addresses: [String?]
    ) -> MQTTError {
        var options = options
        var failure = MQTTError.notConnected
        for (index, address) in addresses.enumerated() {
            let now = SystemClock.monotonic
            addressDeadline = now + (deadline - now) / (addresses.count - index)
            options.address = address
            let error = end(of: options)
            guard error.mayBeOfAddress, !wasConnected, closingUntil == nil else { return error }
            failure = failure.orFurther(error)
        }
        return failure
    }

    private mutating func end(of options: ConnectOptions) -> MQTTError {
        do throws(MQTTError) {
            return try serve(options)
        } catch {
            return error
        }
    }

    /// The addresses to try in turn. One `nil` if there is nothing to look up.
    private mutating func addresses(_ options: ConnectOptions) throws(MQTTError) -> [String?] {
        guard options.uri.scheme != .unix, options.address == nil else {
            return [options.address]
        }
        let host = options.uri.host
        switch try resolve(host) {
        case .found(let addresses): return addresses
        case .failed(let text): throw .nameLookup("\(host): \(text)")
        case .pending: throw .nameLookup("\(host): no answer in time")
        }
    }

    private mutating func resolve(_ host: String) throws(MQTTError) -> HostLookup.Outcome {
        do throws(SystemError) {
            let lookup = try HostLookup(host)
            while lookup.outcome == .pending, closingUntil == nil {
                poller.clear()
                poller.add(lookup.descriptor, read: true, write: false)
                try wait(deadline - SystemClock.monotonic)
                if SystemClock.monotonic >= deadline { break }
            }
            return lookup.outcome
        } catch {
            throw .tcp("\(error)")
        }
    }

    /// The only place that blocks. Also takes the commands that arrived meanwhile.
    private mutating func wait(_ timeout: Duration?) throws(SystemError) {
        let slot = poller.add(mailbox.event.descriptor, read: true, write: false)
        _ = try poller.wait(timeout)
        guard poller.isReadable(slot) else { return }
        for command in mailbox.takeCommands() {
            switch command {
            case .close: closingUntil = SystemClock.monotonic + Self.farewell
            case .acknowledge: isHolding = false
            default: backlog.append(command)
            }
        }
    }
}

// One connection.
extension ClientLoop {
    private mutating func serve(_ options: ConnectOptions) throws(MQTTError) -> MQTTError {
        var connection = try Connection(options)
        try connection.connect()
        var saidFarewell = false
        while true {
            try turn(&connection)
            if let error = takeEvents(&connection) { return error }
            if !wasConnected, !connection.isConnected, SystemClock.monotonic >= addressDeadline {
                return .mqtt("no answer in time", reasonCode: 0)
            }
            if let closingUntil {
                // DISCONNECT would leave after the PUBACKs of a batch that was not stored.
                guard connection.isConnected, SystemClock.monotonic < closingUntil, !isHolding
                else { return .notConnected }
                if !saidFarewell { try connection.disconnect() }
                saidFarewell = true
            } else if !isHolding {
                perform(&connection)
            }
            if isHolding { continue }
            try connection.write()
            if let error = takeEvents(&connection) { return error }
        }
    }

    /// Waits, then reads the available data.
    private mutating func turn(_ connection: inout Connection) throws(MQTTError) {
        if isHolding { return try hold() }
        guard let descriptor = connection.descriptor else { throw .notConnected }
        let interest = connection.interest
        poller.clear()
        let slot = poller.add(descriptor, read: interest.read, write: interest.write)
        do throws(SystemError) {
            try wait(connection.hasBufferedInput ? .zero : timeout(connection))
        } catch {
            throw .tcp("\(error)")
        }
        if connection.nextTick == .zero { try connection.tick() }
        let isReady = poller.isReadable(slot) || poller.isWritable(slot)
        guard isReady || connection.hasBufferedInput else { return }
        try connection.read(
            atMost: batches?.messages ?? Self.messagesOfTurn,
            bytes: batches?.bytes ?? Self.bytesOfTurn)
    }

    /// Waits for `acknowledge` or `close`, and for nothing else. If the broker closes the
    /// connection meanwhile, the next write finds that.
    private mutating func hold() throws(MQTTError) {
        poller.clear()
        do throws(SystemError) {
            try wait(nil)
        } catch {
            throw .tcp("\(error)")
        }
    }

    private func timeout(_ connection: borrowing Connection) -> Duration? {
        let now = SystemClock.monotonic
        var left = connection.nextTick
        if !wasConnected { left = min(left ?? addressDeadline, max(.zero, addressDeadline - now)) }
        if let closingUntil { left = min(left ?? Self.farewell, closingUntil - now) }
        return left.map { max(.zero, $0) }
    }

    /// Passes events on. Returns the error if the connection ended.
    private mutating func takeEvents(_ connection: inout Connection) -> MQTTError? {
        connection.takeEvents(into: &events)
        var batch: [IncomingMessage] = []
        for event in events {
            switch event {
            case .connected(let ack):
                wasConnected = true
                mailbox.connected(ack)
            case .message(let message) where batches != nil: batch.append(message)
            case .message(let message): mailbox.deliver(message)
            case .published(let packetID, let code): answer(packetID, [code])
            case .subscribed(let packetID, let codes): answer(packetID, codes)
            case .unsubscribed(let packetID): answer(packetID, [])
            case .refused, .disconnected:
                return closingUntil == nil ? event.failure : .notConnected
            }
        }
        if !batch.isEmpty {
            isHolding = true
            mailbox.deliver(batch)
        }
        return nil
    }

    private mutating func answer(_ packetID: Int32, _ codes: [UInt8]) {
        waiting.removeValue(forKey: packetID)?.resume(returning: .success(codes))
    }

    private mutating func perform(_ connection: inout Connection) {
        guard connection.isConnected, !backlog.isEmpty else { return }
        let room = Connection.inFlightWindow - connection.unacknowledged
        let count = min(backlog.count, max(0, room))
        for command in backlog.prefix(count) { perform(command, &connection) }
        backlog.removeFirst(count)
    }

    private mutating func perform(_ command: Command, _ connection: inout Connection) {
        guard let reply = command.reply else { return }
        do throws(MQTTError) {
            let packetID = switch command {
            case .publish(let message, _): try connection.publish(message)
            case .subscribe(let list, let sendRetained, let marksRetained, _):
                try connection.subscribe(
                    list, sendRetained: sendRetained, marksRetained: marksRetained)
            case .unsubscribe(let filters, _): try connection.unsubscribe(filters)
            case .acknowledge, .close: Int32(0)
            }
            // A packet id that is used again ends the wait of the earlier command.
            waiting.updateValue(reply, forKey: packetID)?
                .resume(returning: .failure(.notConnected))
        } catch {
            reply.resume(returning: .failure(error))
        }
    }
}
