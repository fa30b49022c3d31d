import LinuxIO

/// What comes in on a `BrokerClient`.
package enum BrokerClientEvent: Sendable {
    case message(IncomingMessage)
    /// The last one: make a new client, with fresh credentials.
    case disconnected(MQTTError)
}

/// A broker connection for programs that are not one loop: a thread owns it, tasks ask.
///
/// Messages are acknowledged as soon as they are in `events`. There is no reconnect. Without
/// `close` the thread ends when the client is freed.
package final class BrokerClient: Sendable {
    /// What the broker said when it let us in. Its version 3.1.1: the program runs degraded.
    package let ack: ConnectAck
    /// Everything that arrives, for one consumer; ends after `disconnected`.
    ///
    /// It holds `bufferLimit` messages, or as many as `connect` was told. What comes while it
    /// is full is dropped and counted: waiting instead would also hold back the PUBACKs that the
    /// consumer may wait for.
    package let events: AsyncStream<BrokerClientEvent>
    package static let bufferLimit = 16_384

    private let mailbox: Mailbox
    private let thread: WorkerThread

    private init(ack: ConnectAck, mailbox: Mailbox, thread: WorkerThread,
                 events: AsyncStream<BrokerClientEvent>) {
        self.ack = ack
        self.mailbox = mailbox
        self.thread = thread
        self.events = events
    }

    deinit {
        if mailbox.abandon() { thread.detach() }
    }

    /// Connects and waits until the broker has let us in, `timeout` at most.
    ///
    /// A broker that refuses MQTT 5 is asked again with 3.1.1, and so is one that hangs up on
    /// it, unless it `hasSpoken5`; see `ack.version`. Throws what the attempt ended
    /// with, by layer; no thread is left then. `buffer` is how many messages `events` holds.
    package static func connect(
        _ options: ConnectOptions, hasSpoken5: Bool = false, timeout: Duration = .seconds(10),
        buffer: Int = bufferLimit
    ) async throws(MQTTError) -> BrokerClient {
        do throws(MQTTError) {
            return try await attempt(options, timeout, buffer)
        } catch {
            guard options.version == .v5, error.suggestsOlderVersion(hasSpoken5: hasSpoken5)
            else { throw error }
            var older = options
            older.version = .v311
            return try await attempt(older, timeout, buffer)
        }
    }

    private static func attempt(
        _ options: ConnectOptions, _ timeout: Duration, _ buffer: Int
    ) async throws(MQTTError) -> BrokerClient {
        let (events, sink) = AsyncStream.makeStream(
            of: BrokerClientEvent.self, bufferingPolicy: .bufferingOldest(buffer))
        let mailbox: Mailbox
        let thread: WorkerThread
        do throws(SystemError) {
            let box = try Mailbox(sink)
            mailbox = box
            thread = try WorkerThread(name: "broker client") {
                ClientLoop.run(options, timeout, box)
            }
        } catch {
            throw .tcp("\(error)")
        }
        let answer = await mailbox.answer()
        switch answer {
        case .success(let ack):
            return BrokerClient(ack: ack, mailbox: mailbox, thread: thread, events: events)
        case .failure(let error):
            thread.join()
            throw error
        }
    }

    /// Publishes and returns the PUBACK's reason code (0x80 and above: the broker did not
    /// take it); 0 once an `atMostOnce` message has left.
    ///
    /// Throws when the connection ends first: nobody knows then whether it arrived.
    package func publish(_ message: OutgoingMessage) async throws(MQTTError) -> UInt8 {
        try await mailbox.request { .publish(message, $0) }.get().first ?? 0
    }

    /// Subscribes and returns the broker's code for each filter, 0x80 and above a refusal.
    /// `marksRetained`: what is published to be kept comes with its mark, not only what was kept.
    @discardableResult
    package func subscribe(
        _ subscriptions: [Subscription], marksRetained: Bool = false
    ) async throws(MQTTError) -> [UInt8] {
        try await mailbox.request {
            .subscribe(subscriptions, marksRetained: marksRetained, $0)
        }.get()
    }

    /// Ends subscriptions; returns when the broker has confirmed it.
    package func unsubscribe(_ filters: [String]) async throws(MQTTError) {
        _ = try await mailbox.request { .unsubscribe(filters, $0) }.get()
    }

    /// Messages that were dropped because `events` was full.
    package var droppedMessages: Int { mailbox.droppedMessages }

    /// Whether the connection stands.
    package var isConnected: Bool { mailbox.isOpen }

    /// Says DISCONNECT (no last will) and returns when the thread has ended. What waits for
    /// an answer throws `notConnected`. Once is enough; again does nothing.
    package func close() async {
        guard mailbox.claimClosing() else { return await mailbox.ended() }
        mailbox.post(.close)
        await mailbox.ended()
        thread.join()
    }
}
