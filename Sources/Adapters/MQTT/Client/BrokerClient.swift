import LinuxIO

/// The events of a `BrokerClient`.
package enum BrokerClientEvent: Sendable {
    case message(IncomingMessage)
    /// Messages for `acknowledge`, from a client with a `BatchLimit`.
    case batch([IncomingMessage])
    /// The last event. Make a new client, with fresh credentials.
    case disconnected(MQTTError)
}

/// The size of a batch. A client with this limit acknowledges no message before `acknowledge`.
package struct BatchLimit: Sendable {
    /// The most messages of a batch. With a Receive Maximum of twice as many, the broker sends the
    /// next batch while this one is being stored.
    package let messages: Int
    /// A batch ends with the message that passes this number of bytes.
    package let bytes: Int

    package init(messages: Int, bytes: Int) { (self.messages, self.bytes) = (messages, bytes) }
}

/// A broker connection for programs that use tasks. A thread owns the connection, and tasks send it
/// commands.
///
/// A message is acknowledged as soon as it is in `events`, unless the client has a `BatchLimit`. It
/// does not reconnect. Without `close` the thread ends after the client is freed.
package final class BrokerClient: Sendable {
    /// The broker's answer to CONNECT. If its version is 3.1.1, the program runs degraded.
    package let ack: ConnectAck
    /// All events, for one reader. It ends after `disconnected`.
    ///
    /// It holds `bufferLimit` messages, or the `buffer` of `connect`. While it is full, new
    /// messages are dropped and counted. Waiting instead would also delay PUBACKs that the reader
    /// may wait for.
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

    /// Connects and waits until the broker accepts, for at most `timeout`.
    ///
    /// If a broker refuses MQTT 5, it tries again with 3.1.1; see `ack.version`. It does the same
    /// if the broker hangs up, unless `hasSpoken5`. Throws the failure of the attempt, by layer;
    /// the thread has ended then. `buffer` is how many messages `events` holds. With `batches`,
    /// `events` has batches, and each one waits for `acknowledge`.
    package static func connect(
        _ options: ConnectOptions, hasSpoken5: Bool = false, timeout: Duration = .seconds(10),
        buffer: Int = bufferLimit, batches: BatchLimit? = nil
    ) async throws(MQTTError) -> BrokerClient {
        do throws(MQTTError) {
            return try await attempt(options, timeout, buffer, batches)
        } catch {
            guard options.version == .v5, error.suggestsOlderVersion(hasSpoken5: hasSpoken5)
            else { throw error }
            var older = options
            older.version = .v311
            return try await attempt(older, timeout, buffer, batches)
        }
    }

    private static func attempt(
        _ options: ConnectOptions, _ timeout: Duration, _ buffer: Int, _ batches: BatchLimit?
    ) async throws(MQTTError) -> BrokerClient {
        let (events, sink) = AsyncStream.makeStream(
            of: BrokerClientEvent.self, bufferingPolicy: .bufferingOldest(buffer))
        let mailbox: Mailbox
        let thread: WorkerThread
        do throws(SystemError) {
            let box = try Mailbox(sink)
            mailbox = box
            thread = try WorkerThread(name: "broker client") {
                ClientLoop.run(options, timeout, box, batches)
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

    /// Publishes and returns the PUBACK's reason code. From 0x80 the broker did not accept the
    /// message. For `atMostOnce` it returns 0 once the message was sent.
    ///
    /// Throws if the connection ends first. Then nobody knows whether the message arrived.
    package func publish(_ message: OutgoingMessage) async throws(MQTTError) -> UInt8 {
        try await mailbox.request { .publish(message, $0) }.get().first ?? 0
    }

    /// Subscribes and returns the broker's code for each filter; from 0x80 it is a refusal. With
    /// `marksRetained`, new messages keep their retain flag, too. Without `sendRetained` the broker
    /// sends no messages that it retained before (MQTT 5 only).
    ///
    /// A client with a `BatchLimit` subscribes only while no batch waits for `acknowledge`.
    @discardableResult
    package func subscribe(
        _ subscriptions: [Subscription], sendRetained: Bool = true, marksRetained: Bool = false
    ) async throws(MQTTError) -> [UInt8] {
        try await mailbox.request {
            .subscribe(
                subscriptions, sendRetained: sendRetained, marksRetained: marksRetained, $0)
        }.get()
    }

    /// Sends the PUBACKs of the last batch, and lets the next one come. Without it the broker sends
    /// the batch again, on the next connection of this client id.
    package func acknowledge() { mailbox.post(.acknowledge) }

    /// Ends subscriptions. Returns once the broker has confirmed it.
    package func unsubscribe(_ filters: [String]) async throws(MQTTError) {
        _ = try await mailbox.request { .unsubscribe(filters, $0) }.get()
    }

    /// The number of messages that were dropped because `events` was full.
    package var droppedMessages: Int { mailbox.droppedMessages }

    /// Whether the connection has not ended.
    package var isConnected: Bool { mailbox.isOpen }

    /// Sends DISCONNECT, so that no last will is sent, and returns once the thread has ended. Calls
    /// that wait for an answer throw `notConnected`. A second call only waits for the end.
    package func close() async {
        guard mailbox.claimClosing() else { return await mailbox.ended() }
        mailbox.post(.close)
        await mailbox.ended()
        thread.join()
    }
}
