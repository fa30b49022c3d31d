import CMosquitto
import LinuxIO
import Wire

/// One connection to a broker, owned by one poll loop.
///
/// Nothing happens by itself: no thread, no reconnect, and nothing is written but in `write`.
/// A round of the loop polls `descriptor` for `interest`, calls `read` and `takeEvents`, makes
/// durable what arrived, and then calls `write`: the PUBACKs of what `read` brought stand in
/// the queue until then, so a message that was not made durable is delivered again.
///
/// After `refused` or `disconnected` only freeing is left; make a new value for a new attempt,
/// with fresh credentials. Freed without `disconnect`, the broker sends the last will.
///
/// libmosquitto's socket pair: in external-thread mode each queued packet writes one byte to
/// it for a thread that polls the other end. Nobody does here. It is not in `descriptor`, so
/// nothing wakes; where many packets are queued, `WakeUps` leaves the system call away.
///
/// The corresponding C type is `struct mosquitto`.
@safe
package struct Connection: ~Copyable {
    /// How far the way to the broker is.
    enum Phase {
        case idle
        case connecting
        case handshaking
        /// CONNECT can go out; `inbox.ack` says whether it was answered.
        case open
        case ended
    }

    let client: Client
    let inbox: Inbox
    let options: ConnectOptions
    var phase = Phase.idle
    /// Whether something was queued that `write` has not sent yet.
    var hasUnwritten = false
    /// Whether DISCONNECT was queued: libmosquitto closes the socket once it has written that.
    var isDisconnecting = false
    /// Between libmosquitto and the socket, once that is open.
    var buffer = SocketBuffer()
    var timer: KeepAliveTimer

    /// How many messages may wait for their PUBACK. Packet ids have 16 bits and libmosquitto
    /// does not look whether one is taken.
    package static let inFlightLimit = 60_000

    /// How many should wait at most. libmosquitto walks all of them for each publish and each
    /// PUBACK: 100,000 messages took 0.5 s of CPU with 100 waiting, 0.7 s with 500, 1.2 s
    /// with 1,000; more than this makes nothing faster.
    package static let inFlightWindow = 100

    /// Prepares a connection. Nothing is looked up or sent.
    ///
    /// Throws `invalid` for options that MQTT does not allow, `tls` for a file that cannot
    /// be used.
    package init(_ options: ConnectOptions) throws(MQTTError) {
        try options.check()
        let inbox = Inbox(options.version, isTLS: options.uri.scheme == .mqtts)
        client = try Client.make(options, inbox)
        self.inbox = inbox
        self.options = options
        timer = KeepAliveTimer(seconds: options.keepAlive)
    }

    /// To be polled for `interest`; `nil` when there is no socket.
    package var descriptor: Int32? {
        guard phase != .idle, phase != .ended else { return nil }
        let raw = client.socket
        return raw >= 0 ? raw : nil
    }

    /// What to poll the descriptor for. Never for more than what is really waited for: a
    /// stalled TLS handshake costs no wake-up.
    package var interest: (read: Bool, write: Bool) {
        switch phase {
        case .idle, .ended: (false, false)
        case .connecting: (false, true)
        case .handshaking:
            client.tls?.wantsWrite == true ? (false, true) : (true, false)
        case .open: (true, hasUnwritten)
        }
    }

    /// Whether the broker has let us in and has not gone.
    package var isConnected: Bool { inbox.ack != nil && phase == .open }

    /// What the broker said when it let us in; `nil` before and after.
    package var ack: ConnectAck? { isConnected ? inbox.ack : nil }

    package var hasEnded: Bool { phase == .ended }

    /// Whether something waits that no poll sees, because `read` was stopped by its bound, or
    /// a write met the end: call `read` again before the next poll, or poll with a timeout of
    /// zero.
    package var hasBufferedInput: Bool {
        if phase == .ended { return !inbox.events.isEmpty }
        guard phase == .open else { return false }
        return buffer.hasUnread || client.tls?.hasBufferedInput == true
    }

    /// Whether something waits for `write`: PUBACKs, publishes, a ping.
    package var hasQueuedWrites: Bool { phase == .open && hasUnwritten }

    /// How many `atLeastOnce` messages were published and not yet acknowledged.
    package var unacknowledged: Int { inbox.unacknowledged }

    /// Messages that were thrown away because their topic was no UTF-8.
    package var droppedMessages: Int { inbox.droppedMessages }

    /// When `tick` wants to be called, from now; `nil` when never.
    package var nextTick: Duration? {
        phase == .idle || phase == .ended ? nil : timer.next(at: SystemClock.monotonic)
    }

    /// Takes what has happened since the last call.
    package mutating func takeEvents() -> [ConnectionEvent] {
        var taken: [ConnectionEvent] = []
        takeEvents(into: &taken)
        return taken
    }

    /// Swaps what has happened into `buffer`, which is emptied first and keeps its memory.
    package mutating func takeEvents(into buffer: inout [ConnectionEvent]) {
        buffer.removeAll(keepingCapacity: true)
        swap(&buffer, &inbox.events)
    }
}
