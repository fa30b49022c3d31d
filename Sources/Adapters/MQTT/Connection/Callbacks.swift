import CMosquitto

/// The C functions that libmosquitto calls while one of our calls runs. Each one finds the inbox in
/// the user data and records there what arrived; see `Inbox`.
enum Callbacks {
    /// The inbox must outlive `client`.
    static func install(_ client: OpaquePointer, _ inbox: Inbox) {
        unsafe mosquitto_user_data_set(client, Unmanaged.passUnretained(inbox).toOpaque())
        unsafe mosquitto_connect_v5_callback_set(client) { _, data, code, flags, properties in
            unsafe Callbacks.box(data)?.connected(
                code: code, flags: flags, PropertyReader(properties))
        }
        unsafe mosquitto_disconnect_v5_callback_set(client) { _, data, code, _ in
            unsafe Callbacks.box(data)?.disconnected(code: code)
        }
        unsafe mosquitto_publish_v5_callback_set(client) { _, data, packetID, code, _ in
            unsafe Callbacks.box(data)?.published(packetID: packetID, reasonCode: code)
        }
        unsafe mosquitto_message_v5_callback_set(client) { _, data, message, properties in
            guard let message = unsafe message else { return }
            unsafe Callbacks.box(data)?.received(message.pointee, PropertyReader(properties))
        }
        unsafe mosquitto_subscribe_v5_callback_set(client) { _, data, packetID, count, codes, _ in
            let buffer = unsafe UnsafeBufferPointer(start: codes, count: Int(count))
            let granted = unsafe buffer.map { UInt8(truncatingIfNeeded: $0) }
            unsafe Callbacks.box(data)?.subscribed(packetID: packetID, granted)
        }
        unsafe mosquitto_unsubscribe_v5_callback_set(client) { _, data, packetID, _ in
            unsafe Callbacks.box(data)?.events.append(.unsubscribed(packetID: packetID))
        }
    }

    /// Records OpenSSL's errors during a handshake. It is off afterwards, because libmosquitto
    /// formats a log line for every packet while a log callback is set.
    static func listenToLog(_ client: OpaquePointer, _ isOn: Bool) {
        guard isOn else { return unsafe mosquitto_log_callback_set(client, nil) }
        unsafe mosquitto_log_callback_set(client) { _, data, level, text in
            guard level == Int32(MOSQ_LOG_ERR), let text = unsafe text else { return }
            unsafe Callbacks.box(data)?.handshakeError = String(cString: text)
        }
    }

    fileprivate static func box(_ data: UnsafeMutableRawPointer?) -> Inbox? {
        guard let data = unsafe data else { return nil }
        return unsafe Unmanaged<Inbox>.fromOpaque(data).takeUnretainedValue()
    }
}

extension Inbox {
    /// Copies a message once. libmosquitto has checked that the topic is UTF-8; this code checks it
    /// again.
    func received(_ message: mosquitto_message, _ properties: PropertyReader) {
        guard let raw = unsafe message.topic,
              let topic = unsafe String(validatingCString: raw), !topic.isEmpty
        else {
            droppedMessages += 1
            return
        }
        let length = unsafe max(0, Int(message.payloadlen))
        let payload = unsafe UnsafeRawBufferPointer(
            start: message.payload, count: unsafe message.payload == nil ? 0 : length)
        let carried = properties.message()
        // The whole message stays in memory until the batch is done, so all its bytes count.
        filedBytes += length + topic.utf8.count + carried.encodedLength
        unsafe events.append(.message(IncomingMessage(
            topic: topic, payload: Self.copy(payload),
            qos: message.qos == 0 ? .atMostOnce : .atLeastOnce, retain: message.retain,
            packetID: UInt16(truncatingIfNeeded: message.mid),
            properties: carried)))
    }

    /// Copies with one memcpy. `Array` of a raw buffer would copy byte by byte.
    private static func copy(_ payload: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: payload.count) { room, count in
            unsafe UnsafeMutableRawBufferPointer(room).copyMemory(from: payload)
            count = payload.count
        }
    }
}
