import CMosquitto
import LinuxIO
import Wire

extension Connection {
    /// Starts to connect and returns at once. An event reports the connection or its end.
    ///
    /// Nothing blocks with `options.address`, a numeric host or a Unix socket. Throws if the
    /// attempt has already failed (`nameLookup`, `tcp`, on loopback even `tls`); there is no event
    /// then. A second call throws `notConnected`.
    package mutating func connect() throws(MQTTError) {
        guard phase == .idle else { throw .notConnected }
        let isTLS = options.uri.scheme == .mqtts
        if isTLS { unsafe Callbacks.listenToLog(client.raw, true) }
        let code = client.connect(options, try connectProperties())
        let systemCode = SystemError.lastCode
        guard code <= Self.success else {
            phase = .ended
            let (text, layer) = Failure.describe(
                code, systemCode: systemCode, isConnected: false)
            throw MQTTError(layer, handshakeText() ?? text, reasonCode: 0)
        }
        inbox.packetGuard = PacketGuard(
            client.socket, isTLS: isTLS, version: options.version,
            most: options.maximumPacketSize)
        timer.started(at: SystemClock.monotonic)
        hasUnwritten = true
        if options.uri.scheme == .unix { open() } else { phase = .connecting }
    }

    /// Reads until the socket is empty, `limit` messages are recorded, or they have more than
    /// `bytes` bytes.
    ///
    /// Other events on the way are recorded too. With TLS the last record may bring a few messages
    /// more. Answers stay queued for `write`. Throws `notConnected` if there is no connection to
    /// read from.
    package mutating func read(
        atMost limit: Int, bytes: Int = 1 << 20
    ) throws(MQTTError) {
        try advance()
        guard phase == .open else { return }
        let start = inbox.events.count
        var before = start
        inbox.filedBytes = 0
        while inbox.events.count - start < limit, inbox.filedBytes <= bytes {
            let code = WakeUps.muted { unsafe mosquitto_loop_read(client.raw, 1) }
            guard settle(code) else { break }
            // libmosquitto does not report that the socket is empty. A call without a new event
            // shows it.
            if inbox.events.count == before, !hasBufferedInput { break }
            before = inbox.events.count
        }
        if phase == .open {
            if options.uri.scheme != .unix { SocketProbe.acknowledge(client.socket) }
            timer.hasRead(at: SystemClock.monotonic)
            if let seconds = inbox.ack?.serverKeepAlive { timer.setInterval(seconds) }
            hasUnwritten = hasUnwritten || client.wantsWrite
        }
    }

    /// Sends the queued packets, including PUBACKs, as far as the socket takes them.
    ///
    /// Call it once the received messages are durable. Throws `notConnected` without a connection.
    package mutating func write() throws(MQTTError) {
        try advance()
        guard phase == .open, hasUnwritten, descriptor != nil else { return }
        inbox.isWriting = true
        // Gathers many packets into one write(2). Not with DISCONNECT: libmosquitto then closes the
        // socket, and the gathered bytes would be lost.
        buffer.gather(!isDisconnecting)
        let code = unsafe mosquitto_loop_write(client.raw, 1)
        buffer.gather(false)
        inbox.isWriting = false
        guard settle(code), flush() else { return }
        timer.hasWritten(at: SystemClock.monotonic)
        // With TLS, libmosquitto's "wants to write" may be left from the handshake.
        hasUnwritten = buffer.hasUnsent
            || (client.wantsWrite && client.tls?.wantsWrite != false)
    }

    /// Sends the bytes that `write` gathered. False if that ended the connection.
    private mutating func flush() -> Bool {
        do throws(SystemError) {
            try buffer.flush()
            return true
        } catch {
            phase = .ended
            inbox.end(.disconnected(
                reasonCode: 0, text: error.isReset
                    ? Library.text(Int32(MOSQ_ERR_CONN_LOST.rawValue)) : error.text,
                layer: .tcp))
            return false
        }
    }

    /// Handles the keep-alive. Queues a ping if one is due (call `write` then), and ends a
    /// connection whose last ping was not answered.
    package mutating func tick() throws(MQTTError) {
        guard phase != .idle, phase != .ended else { throw .notConnected }
        guard settle(unsafe mosquitto_loop_misc(client.raw)) else { return }
        timer.ticked(at: SystemClock.monotonic)
        if phase == .open { hasUnwritten = hasUnwritten || client.wantsWrite }
    }

    static var success: Int32 { Int32(MOSQ_ERR_SUCCESS.rawValue) }
}

// The steps to an open connection: TCP, then TLS.
extension Connection {
    private mutating func advance() throws(MQTTError) {
        if phase == .connecting { advanceConnect() }
        if phase == .handshaking { advanceHandshake() }
        if phase == .idle || (phase == .ended && inbox.events.isEmpty) { throw .notConnected }
    }

    private mutating func advanceConnect() {
        switch SocketProbe.connectState(client.socket) {
        case .pending: break
        case .connected:
            if client.tls == nil { open() } else { phase = .handshaking }
        case .failed(let error) where options.uri.scheme == .mqtts && error.isReset:
            endHandshake(error.text)
        case .failed(let error):
            phase = .ended
            inbox.end(.disconnected(reasonCode: 0, text: error.text, layer: .tcp))
        }
    }

    /// Checks the socket first: libmosquitto mistakes a connection that broke in the handshake for
    /// one that waits, and would wait for ever.
    private mutating func advanceHandshake() {
        switch SocketProbe.peek(client.socket) {
        case .closed: return endHandshake("the broker closed the connection in the handshake")
        case .failed(let error): return endHandshake(error.text)
        case .nothing, .data: break
        }
        let code = unsafe mosquitto_loop_read(client.raw, 1)
        guard code == Self.success, client.socket >= 0 else {
            return endHandshake(handshakeText() ?? Library.text(code))
        }
        guard client.tls?.isHandshaking == false else { return }
        unsafe Callbacks.listenToLog(client.raw, false)
        open()
    }

    private mutating func open() {
        phase = .open
        if !options.isOneOfMany { buffer = SocketBuffer(client.socket) }
    }

    private mutating func endHandshake(_ text: String) {
        phase = .ended
        inbox.end(.disconnected(reasonCode: 0, text: text, layer: .tls))
    }

    /// OpenSSL's error text. A certificate's fault comes first.
    private func handshakeText() -> String? {
        if let text = inbox.certificateError { return "the certificate: \(text)" }
        guard let line = inbox.handshakeError else { return nil }
        return line.split(separator: ":").last.map(String.init) ?? line
    }

    private func connectProperties() throws(MQTTError) -> PropertyList {
        var list = PropertyList()
        guard options.version == .v5 else { return list }
        if options.sessionExpiry > 0 {
            try list.add(options.sessionExpiry, MQTT_PROP_SESSION_EXPIRY_INTERVAL)
        }
        if let size = options.maximumPacketSize, size > 0 {
            try list.add(size, MQTT_PROP_MAXIMUM_PACKET_SIZE)
        }
        return list
    }

    /// Whether the connection is still open after a call into libmosquitto. Records the end if not.
    private mutating func settle(_ code: Int32) -> Bool {
        if code == Self.success, client.socket >= 0, !inbox.hasEnded { return true }
        phase = .ended
        inbox.disconnected(code: code)
        return false
    }
}
