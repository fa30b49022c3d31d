import CMosquitto
import LinuxIO
import Wire

/// One connection to a broker, owned by one poll loop.
///
/// Nothing happens by itself: there is no thread and no reconnect, and only `write` writes. In each
/// round the loop polls `descriptor` for `interest` and calls `read` and `takeEvents`. It makes the
/// messages durable and then calls `write`. The PUBACKs wait in the queue until then, so the broker
/// sends a message again that was not made durable.
///
/// After `refused` or `disconnected` only free the value. Make a new one for a new attempt, with
/// fresh credentials. If it is freed without `disconnect`, the broker sends the last will.
///
/// libmosquitto has a socket pair. In external-thread mode it writes one byte to it for each queued
/// packet, to wake a thread that polls the other end. There is no such thread here. The pair is not
/// in `descriptor`, so it wakes no poll. `WakeUps` skips the system call if many packets are
/// queued.
///
/// The corresponding C type is `struct mosquitto`.
@safe
package struct Connection: ~Copyable {
    /// The progress of the connection.
    enum Phase {
        case idle
        case connecting
        case handshaking
        /// CONNECT can be sent. `inbox.ack` is set once the broker has answered.
        case open
        case ended
    }

    let client: Client
    let inbox: Inbox
    let options: ConnectOptions
    var phase = Phase.idle
    /// Whether packets are queued that `write` has not sent yet.
    var hasUnwritten = false
    /// Whether DISCONNECT was queued. libmosquitto closes the socket after it has written
    /// DISCONNECT.
    var isDisconnecting = false
    /// The buffer between libmosquitto and the socket, once the connection is open.
    var buffer = SocketBuffer()
    var timer: KeepAliveTimer

    /// The largest number of messages without a PUBACK. Packet ids have 16 bits, and libmosquitto
    /// does not check whether an id is in use.
    package static let inFlightLimit = 60_000

    /// The recommended number of messages without a PUBACK. libmosquitto searches all of them for
    /// each publish and each PUBACK. 100,000 messages took 0.5 s of CPU with 100 waiting, 0.7 s
    /// with 500 and 1.2 s with 1,000. More than 100 makes nothing faster.
    package static let inFlightWindow = 100

    /// Prepares a connection. Nothing is looked up or sent.
    ///
    /// Throws `invalid` for options that MQTT does not allow, and `tls` for a file that cannot be
    /// used.
    package init(_ options: ConnectOptions) throws(MQTTError) {
        try options.check()
        let inbox = Inbox(options.version, isTLS: options.uri.scheme == .mqtts)
        client = try Client.make(options, inbox)
        self.inbox = inbox
        self.options = options
        timer = KeepAliveTimer(seconds: options.keepAlive)
    }

    /// Poll it for `interest`. `nil` if there is no socket.
    package var descriptor: Int32? {
        guard phase != .idle, phase != .ended else { return nil }
        let raw = client.socket
        return raw >= 0 ? raw : nil
    }

    /// The events to poll the descriptor for. It never includes an event that nobody waits for, so
    /// a stalled TLS handshake causes no wake-ups.
    package var interest: (read: Bool, write: Bool) {
        switch phase {
        case .idle, .ended: (false, false)
        case .connecting: (false, true)
        case .handshaking:
            client.tls?.wantsWrite == true ? (false, true) : (true, false)
        case .open: (true, hasUnwritten)
        }
    }

    /// Whether the broker has accepted the connection and it has not ended.
    package var isConnected: Bool { inbox.ack != nil && phase == .open }

    /// The broker's answer to CONNECT. `nil` before it, and after the end.
    package var ack: ConnectAck? { isConnected ? inbox.ack : nil }

    package var hasEnded: Bool { phase == .ended }

    /// Whether data or an event waits that no poll reports. `read` stopped at its limit, or a write
    /// found the end. Call `read` again before the next poll, or poll with a timeout of zero.
    package var hasBufferedInput: Bool {
        if phase == .ended { return !inbox.events.isEmpty }
        guard phase == .open else { return false }
        return buffer.hasUnread || client.tls?.hasBufferedInput == true
    }

    /// Whether packets wait for `write`: PUBACKs, publishes, a ping.
    package var hasQueuedWrites: Bool { phase == .open && hasUnwritten }

    /// The number of published `atLeastOnce` messages without an acknowledgement.
    package var unacknowledged: Int { inbox.unacknowledged }

    /// The number of messages that were dropped because their topic was not UTF-8.
    package var droppedMessages: Int { inbox.droppedMessages }

    /// The time until `tick` must be called; `nil`: never.
    package var nextTick: Duration? {
        phase == .idle || phase == .ended ? nil : timer.next(at: SystemClock.monotonic)
    }

    /// Takes the events since the last call.
    package mutating func takeEvents() -> [ConnectionEvent] {
        var taken: [ConnectionEvent] = []
        takeEvents(into: &taken)
        return taken
    }

    /// Moves the events into `buffer`, which is emptied first and keeps its memory.
    package mutating func takeEvents(into buffer: inout [ConnectionEvent]) {
        buffer.removeAll(keepingCapacity: true)
        swap(&buffer, &inbox.events)
    }
}
