import CMosquitto
import Sessions
import Wire

/// A configured libmosquitto client. It reports to the inbox and is freed with its owner.
///
/// The corresponding C functions are `mosquitto_new` and `mosquitto_destroy`.
@safe
struct Client: ~Copyable {
    let raw: OpaquePointer

    /// Makes a client. The inbox must outlive it.
    static func make(_ options: ConnectOptions, _ inbox: Inbox) throws(MQTTError) -> Client {
        WakeUps.withholdPair(options.isOneOfMany)
        defer { WakeUps.withholdPair(false) }
        let client = try Client(options.clientID, cleanStart: options.cleanStart)
        client.configure(options, inbox)
        try client.setCredentials(options)
        if let will = options.will { try client.setWill(will, options.version) }
        if options.uri.scheme == .mqtts {
            try client.setTLS(TLSContext.make(options.tls, host: options.uri.host, inbox))
        }
        return client
    }

    private init(_ clientID: String, cleanStart: Bool) throws(MQTTError) {
        Library.start
        guard let client = unsafe mosquitto_new(clientID, cleanStart, nil) else {
            throw .invalid("the client id is not UTF-8 that MQTT allows")
        }
        unsafe raw = client
    }

    private func configure(_ options: ConnectOptions, _ inbox: Inbox) {
        unsafe Callbacks.install(raw, inbox)
        // Queues every packet until `mosquitto_loop_write`, PUBACKs above all.
        unsafe mosquitto_threaded_set(raw, true)
        setOption(MOSQ_OPT_PROTOCOL_VERSION,
                  options.version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311)
        setOption(MOSQ_OPT_RECEIVE_MAXIMUM, Int32(options.receiveMaximum))
        // The default is 20. The broker's receive maximum replaces this value when it answers.
        setOption(MOSQ_OPT_SEND_MAXIMUM, Int32(UInt16.max))
        if options.uri.scheme != .unix { setOption(MOSQ_OPT_TCP_NODELAY, 1) }
    }

    /// libmosquitto takes its own reference.
    private func setTLS(_ context: consuming TLSContext) throws(MQTTError) {
        let code = unsafe mosquitto_void_option(
            raw, MOSQ_OPT_SSL_CTX, UnsafeMutableRawPointer(context.raw))
        try Self.check(code, "TLS")
        setOption(MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0)
    }

    deinit { unsafe mosquitto_destroy(raw) }

    var socket: Int32 { unsafe mosquitto_socket(raw) }
    var wantsWrite: Bool { unsafe mosquitto_want_write(raw) }
    var tls: TLSProgress? { unsafe TLSProgress(raw) }

    /// Starts to connect. Returns libmosquitto's code: below 0 the connection is in progress.
    ///
    /// `mosquitto_connect_async` takes no properties, and the call that takes them blocks in
    /// connect(2). That call stores the properties before it checks the host. So it is made without
    /// a host and fails, and the asynchronous call then sends the stored properties.
    func connect(_ options: ConnectOptions, _ properties: borrowing PropertyList) -> Int32 {
        let keepAlive = Int32(options.keepAlive)
        unsafe properties.withPointer { list in
            guard unsafe list != nil else { return }
            _ = unsafe mosquitto_connect_bind_v5(raw, nil, 1, keepAlive, nil, list)
        }
        let uri = options.uri
        // Port 0 tells libmosquitto that the host is the path of a Unix socket.
        let host = uri.scheme == .unix ? uri.path : options.address ?? uri.host
        return unsafe mosquitto_connect_async(raw, host, Int32(uri.port), keepAlive)
    }

    private func setOption(_ option: mosq_opt_t, _ value: Int32) {
        _ = unsafe mosquitto_int_option(raw, option, value)
    }

    /// libmosquitto keeps copies until it is freed and does not wipe them.
    private func setCredentials(_ options: ConnectOptions) throws(MQTTError) {
        guard let username = options.username else { return }
        guard let password = options.password else {
            let code = unsafe mosquitto_username_pw_set(raw, username, nil)
            return try Self.check(code, "the user name")
        }
        let code = unsafe password.withBytes { bytes in
            let copy = UnsafeMutableBufferPointer<CChar>.allocate(
                capacity: bytes.count + 1)
            defer {
                unsafe copy.update(repeating: 0)
                unsafe copy.deallocate()
            }
            unsafe copy.initialize(repeating: 0)
            unsafe UnsafeMutableRawBufferPointer(copy).copyBytes(from: bytes)
            return unsafe mosquitto_username_pw_set(raw, username, copy.baseAddress)
        }
        try Self.check(code, "the user name")
    }

    private func setWill(
        _ will: OutgoingMessage, _ version: ProtocolVersion
    ) throws(MQTTError) {
        var list = version == .v5 ? try PropertyList(will.properties) : PropertyList()
        var code: Int32 = 0
        unsafe list.handOver { properties in
            unsafe code = mosquitto_will_set_v5(
                raw, will.topic, Int32(will.payload.count), will.payload,
                Int32(will.qos.rawValue), will.retain, properties)
            return code == Int32(MOSQ_ERR_SUCCESS.rawValue)
        }
        try Self.check(code, "the last will")
    }

    private static func check(_ code: Int32, _ what: String) throws(MQTTError) {
        guard code == Int32(MOSQ_ERR_SUCCESS.rawValue) else {
            throw .invalid("\(what): \(Library.text(code))")
        }
    }
}
