import CMosquitto

/// The properties of one outgoing packet, freed with their owner.
///
/// The corresponding C type is `mosquitto_property`.
@safe
struct PropertyList: ~Copyable {
    private var head: OpaquePointer?

    init() { unsafe head = nil }

    /// Makes the list for a message. Throws `invalid` for text that MQTT does not allow.
    init(_ properties: borrowing MessageProperties) throws(MQTTError) {
        unsafe head = nil
        if properties.isText { try add(byte: 1, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR) }
        if let expiry = properties.messageExpiry {
            try add(expiry, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL)
        }
        if let type = properties.contentType { try add(type, MQTT_PROP_CONTENT_TYPE) }
        if let topic = properties.responseTopic {
            try TopicName.check(topic)
            try add(topic, MQTT_PROP_RESPONSE_TOPIC)
        }
        if let data = properties.correlationData { try add(data, MQTT_PROP_CORRELATION_DATA) }
        for property in properties.userProperties { try add(property) }
    }

    deinit {
        var head = unsafe head
        unsafe mosquitto_property_free_all(&head)
    }

    /// Lends the list; `nil` if it is empty.
    func withPointer<R>(_ body: (OpaquePointer?) -> R) -> R { unsafe body(head) }

    /// Passes the list to a C function that frees it. If `body` returns `false`, the list stays
    /// here.
    mutating func handOver(_ body: (OpaquePointer?) -> Bool) {
        if unsafe body(head) { unsafe head = nil }
    }

    mutating func add(_ value: UInt32, _ name: mqtt5_property) throws(MQTTError) {
        try Self.check(unsafe mosquitto_property_add_int32(&head, Self.number(name), value))
    }

    private mutating func add(byte: UInt8, _ name: mqtt5_property) throws(MQTTError) {
        try Self.check(unsafe mosquitto_property_add_byte(&head, Self.number(name), byte))
    }

    private mutating func add(_ text: String, _ name: mqtt5_property) throws(MQTTError) {
        try ConnectOptions.checkField(text, "a property")
        let result = unsafe CText.lend(text) { text in
            unsafe mosquitto_property_add_string(&head, Self.number(name), text)
        }
        try Self.check(result)
    }

    private mutating func add(_ data: [UInt8], _ name: mqtt5_property) throws(MQTTError) {
        guard let count = UInt16(exactly: data.count) else { throw .tooLarge(limit: 65_535) }
        let result = unsafe mosquitto_property_add_binary(&head, Self.number(name), data, count)
        try Self.check(result)
    }

    private mutating func add(_ property: UserProperty) throws(MQTTError) {
        try ConnectOptions.checkField(property.name, "a user property")
        try ConnectOptions.checkField(property.value, "a user property")
        let number = Self.number(MQTT_PROP_USER_PROPERTY)
        let result = unsafe CText.lend(property.name, property.value) { name, value in
            unsafe mosquitto_property_add_string_pair(&head, number, name, value)
        }
        try Self.check(result)
    }

    private static func number(_ name: mqtt5_property) -> Int32 {
        Int32(truncatingIfNeeded: name.rawValue)
    }

    private static func check(_ code: Int32) throws(MQTTError) {
        guard code == Int32(MOSQ_ERR_SUCCESS.rawValue) else {
            throw .invalid("a property: \(Library.text(code))")
        }
    }
}

extension MessageProperties {
    /// The length of the properties in a packet, in bytes, without their own length field.
    ///
    /// Source: MQTT 5 §2.2.2.
    var encodedLength: Int {
        var length = isText ? 2 : 0
        if messageExpiry != nil { length += 5 }
        if let contentType { length += 3 + contentType.utf8.count }
        if let responseTopic { length += 3 + responseTopic.utf8.count }
        if let correlationData { length += 3 + correlationData.count }
        for property in userProperties {
            length += 5 + property.name.utf8.count + property.value.utf8.count
        }
        return length
    }
}
