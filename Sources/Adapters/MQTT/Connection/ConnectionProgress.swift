import CMosquitto
import LinuxIO
import Wire

extension Connection {
    /// Starts to connect and returns at once; `connected` or an end comes as an event.
    ///
    /// With `options.address`, a numeric host or a Unix socket nothing blocks. Throws when the
    /// attempt has failed already (`nameLookup`, `tcp`, on loopback even `tls`; there is no
    /// event then), `notConnected` the second time.
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

    /// Reads until the socket is dry, or until `limit` messages are filed, or payloads of more
    /// than `bytes` bytes.
    ///
    /// Everything else that arrives on the way is filed too; with TLS the last record may
    /// bring a few messages more. What they are answered with stays queued for `write`.
    /// Throws `notConnected` when there is nothing to read from.
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
            // libmosquitto does not say whether the socket is dry. A call that brought nothing
            // does.
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

    /// Sends what is queued, PUBACKs included, as far as the socket takes it.
    ///
    /// Call it when what was read is durable. Throws `notConnected` without a connection.
    package mutating func write() throws(MQTTError) {
        try advance()
        guard phase == .open, hasUnwritten, descriptor != nil else { return }
        inbox.isWriting = true
        // Many packets, one write(2); but a socket that is closed behind DISCONNECT takes what
        // was gathered with it.
        buffer.gather(!isDisconnecting)
        let code = unsafe mosquitto_loop_write(client.raw, 1)
        buffer.gather(false)
        inbox.isWriting = false
        guard settle(code), flush() else { return }
        timer.hasWritten(at: SystemClock.monotonic)
        // With TLS, libmosquitto's "wants to write" may be left over from a handshake.
        hasUnwritten = buffer.hasUnsent
            || (client.wantsWrite && client.tls?.wantsWrite != false)
    }

    /// Sends what `write` has gathered. False when that ended the connection.
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

    /// Sees to the keep-alive: queues a ping when one is due (call `write` then), ends a
    /// connection whose last ping was not answered.
    package mutating func tick() throws(MQTTError) {
        guard phase != .idle, phase != .ended else { throw .notConnected }
        guard settle(unsafe mosquitto_loop_misc(client.raw)) else { return }
        timer.ticked(at: SystemClock.monotonic)
        if phase == .open { hasUnwritten = hasUnwritten || client.wantsWrite }
    }

    static var success: Int32 { Int32(MOSQ_ERR_SUCCESS.rawValue) }
}

// The way to an open connection: TCP, then TLS.
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

    /// libmosquitto takes a connection that broke in the handshake for one that waits, and
    /// would be asked for ever: so the socket is looked at first.
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

    /// OpenSSL's words, the certificate's fault first.
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

    /// Whether the connection still stands after a call into libmosquitto.
    private mutating func settle(_ code: Int32) -> Bool {
        if code == Self.success, client.socket >= 0, !inbox.hasEnded { return true }
        phase = .ended
        inbox.disconnected(code: code)
        return false
    }
}
