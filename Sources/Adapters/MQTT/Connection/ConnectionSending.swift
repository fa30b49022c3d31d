import CMosquitto

extension Connection {
    /// Queues a message for `write` and returns its packet id. The `published` event has the same
    /// id.
    ///
    /// Throws `notConnected` before the broker has accepted the connection, and `invalid` for a
    /// topic or property that MQTT does not allow. Throws `tooLarge` for more than the broker
    /// accepts, and `tooManyInFlight`. Nothing is queued then. On 3.1.1 the properties are left
    /// out.
    package mutating func publish(
        _ message: borrowing OutgoingMessage
    ) throws(MQTTError) -> Int32 {
        guard let ack else { throw .notConnected }
        try check(message, ack)
        let properties = ack.version == .v5
            ? try PropertyList(message.properties) : PropertyList()
        let payload = message.payload
        let (qos, retain) = (message.qos, message.retain)
        var packetID: Int32 = 0
        let code = unsafe CText.lend(message.topic) { topic in
            unsafe properties.withPointer { list in
                WakeUps.muted {
                    unsafe mosquitto_publish_v5(
                        client.raw, &packetID, topic, Int32(payload.count), payload,
                        Int32(qos.rawValue), retain, list)
                }
            }
        }
        try check(code)
        if qos == .atLeastOnce { inbox.unacknowledged += 1 }
        hasUnwritten = true
        return packetID
    }

    /// Queues a subscription and returns its packet id. The `subscribed` event has the same id.
    ///
    /// All filters of one call have one level. With `sendRetained` false (MQTT 5) the broker does
    /// not send its retained messages. With `marksRetained` (MQTT 5) new messages keep their retain
    /// flag, too. With `noLocal` (MQTT 5) the connection's own messages do not come back.
    ///
    /// Source: MQTT 5 §3.8.3.1.
    package mutating func subscribe(
        _ subscriptions: [Subscription], sendRetained: Bool = true, marksRetained: Bool = false,
        noLocal: Bool = false
    ) throws(MQTTError) -> Int32 {
        guard let ack else { throw .notConnected }
        guard let qos = subscriptions.first?.qos,
              subscriptions.allSatisfy({ $0.qos == qos }) else {
            throw .invalid("a subscription needs a filter, and one QoS for all filters")
        }
        var options: Int32 = 0
        if ack.version == .v5 {
            if !sendRetained { options |= Int32(MQTT_SUB_OPT_SEND_RETAIN_NEVER.rawValue) }
            if noLocal { options |= Int32(MQTT_SUB_OPT_NO_LOCAL.rawValue) }
            if marksRetained { options |= Int32(MQTT_SUB_OPT_RETAIN_AS_PUBLISHED.rawValue) }
        }
        var packetID: Int32 = 0
        let strings = try CStrings(subscriptions.map(\.filter))
        let code = unsafe strings.withPointers { pointers, count in
            unsafe mosquitto_subscribe_multiple(
                client.raw, &packetID, count, pointers, Int32(qos.rawValue), options, nil)
        }
        try check(code)
        inbox.asked[packetID] = subscriptions.count
        hasUnwritten = true
        return packetID
    }

    /// Queues an unsubscription and returns its packet id. The `unsubscribed` event has the same
    /// id.
    package mutating func unsubscribe(_ filters: [String]) throws(MQTTError) -> Int32 {
        guard isConnected else { throw .notConnected }
        guard !filters.isEmpty else { throw .invalid("no filter to unsubscribe") }
        var packetID: Int32 = 0
        let strings = try CStrings(filters)
        let code = unsafe strings.withPointers { pointers, count in
            unsafe mosquitto_unsubscribe_multiple(client.raw, &packetID, count, pointers, nil)
        }
        try check(code)
        hasUnwritten = true
        return packetID
    }

    /// Queues DISCONNECT behind all other packets. `disconnected` comes once `write` has sent it.
    ///
    /// With `sendWill` the broker still sends the last will. That is not possible on 3.1.1: free
    /// the connection instead.
    package mutating func disconnect(sendWill: Bool = false) throws(MQTTError) {
        guard phase == .open else { throw .notConnected }
        guard !sendWill || options.version == .v5 else {
            throw .invalid("MQTT 3.1.1 has no DISCONNECT with will")
        }
        let reason: Int32 = sendWill ? 0x04 : 0
        try check(unsafe mosquitto_disconnect_v5(client.raw, reason, nil))
        isDisconnecting = true
        hasUnwritten = true
    }
}

extension Connection {
    private func check(
        _ message: borrowing OutgoingMessage, _ ack: ConnectAck
    ) throws(MQTTError) {
        try TopicName.check(message.topic)
        if message.qos == .atLeastOnce {
            guard ack.maximumQoS == .atLeastOnce else {
                throw .mqtt("the broker allows QoS 0 only", reasonCode: 0)
            }
            guard inbox.unacknowledged < Self.inFlightLimit else {
                throw .tooManyInFlight(limit: Self.inFlightLimit)
            }
        }
        guard !message.retain || ack.retainAvailable else {
            throw .invalid("the broker keeps no retained messages")
        }
        let length = PacketSize.publish(message, ack.version)
        // libmosquitto computes this size one byte too small. If the broker's limit lies between
        // the two, libmosquitto ends the process. So the size is checked here first.
        let limit = min(Int(ack.maximumPacketSize ?? .max), PacketSize.limit)
        guard length <= limit else { throw .tooLarge(limit: limit) }
    }

    private func check(_ code: Int32) throws(MQTTError) {
        switch mosq_err_t(code) {
        case MOSQ_ERR_SUCCESS: return
        case MOSQ_ERR_NO_CONN: throw .notConnected
        case MOSQ_ERR_NOMEM: throw .mqtt("no memory is left", reasonCode: 0)
        case MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_PAYLOAD_SIZE:
            throw .tooLarge(limit: Int(ack?.maximumPacketSize ?? .max))
        default: throw .invalid(Library.text(code))
        }
    }
}

/// Computes the exact length of packets. Source: MQTT 5 §2.1.4, §3.3.
enum PacketSize {
    /// The longest packet that MQTT allows, in bytes.
    static let limit = 268_435_455

    static func publish(
        _ message: borrowing OutgoingMessage, _ version: ProtocolVersion
    ) -> Int {
        var remaining = 2 + message.topic.utf8.count + message.payload.count
        if message.qos != .atMostOnce { remaining += 2 }
        if version == .v5 {
            let properties = message.properties.encodedLength
            remaining += properties + variableLength(properties)
        }
        return 1 + variableLength(remaining) + remaining
    }

    private static func variableLength(_ value: Int) -> Int {
        switch value {
        case ..<128: 1
        case ..<16_384: 2
        case ..<2_097_152: 3
        default: 4
        }
    }
}

/// Topic filters as the array of C strings that libmosquitto reads.
private struct CStrings {
    private var bytes: [CChar] = []
    private var offsets: [Int] = []

    init(_ filters: [String]) throws(MQTTError) {
        for filter in filters {
            try ConnectOptions.checkField(filter, "a topic filter")
            guard !filter.isEmpty else { throw .invalid("a topic filter is empty") }
            offsets.append(bytes.count)
            bytes.append(contentsOf: filter.utf8.map { CChar(bitPattern: $0) } + [0])
        }
    }

    func withPointers(
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>?, Int32) -> Int32
    ) -> Int32 {
        var copy = bytes
        return unsafe copy.withUnsafeMutableBufferPointer { buffer in
            let pointers = unsafe offsets.map { unsafe buffer.baseAddress?.advanced(by: $0) }
            return unsafe pointers.withUnsafeBufferPointer { list in
                unsafe body(list.baseAddress, Int32(list.count))
            }
        }
    }
}
