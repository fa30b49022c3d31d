import CMosquitto
import LinuxIO

/// Reads the properties of a received packet. libmosquitto owns them.
@safe
struct PropertyReader {
    private let head: OpaquePointer?

    init(_ head: OpaquePointer?) { unsafe self.head = head }

    /// Reads all properties of a message in one pass. Unknown ones are left out.
    func message() -> MessageProperties {
        var result = MessageProperties.none
        var next = unsafe head
        while let property = unsafe next {
            unsafe Self.read(property, into: &result)
            unsafe next = mosquitto_property_next(property)
        }
        return result
    }

    func byte(_ name: mqtt5_property) -> UInt8? {
        var value: UInt8 = 0
        let found = unsafe mosquitto_property_read_byte(head, Self.number(name), &value, false)
        return unsafe found == nil ? nil : value
    }

    func int16(_ name: mqtt5_property) -> UInt16? {
        var value: UInt16 = 0
        let found = unsafe mosquitto_property_read_int16(head, Self.number(name), &value, false)
        return unsafe found == nil ? nil : value
    }

    func int32(_ name: mqtt5_property) -> UInt32? {
        var value: UInt32 = 0
        let found = unsafe mosquitto_property_read_int32(head, Self.number(name), &value, false)
        return unsafe found == nil ? nil : value
    }

    private static func read(_ property: OpaquePointer, into result: inout MessageProperties) {
        let reader = unsafe PropertyReader(property)
        let identifier = unsafe mosquitto_property_identifier(property)
        switch identifier {
        case number(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR):
            result.isText = reader.byte(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR) == 1
        case number(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL):
            result.messageExpiry = reader.int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL)
        case number(MQTT_PROP_CONTENT_TYPE):
            result.contentType = unsafe text(property, identifier)
        case number(MQTT_PROP_RESPONSE_TOPIC):
            result.responseTopic = unsafe text(property, identifier)
        case number(MQTT_PROP_CORRELATION_DATA):
            result.correlationData = unsafe data(property, identifier)
        case number(MQTT_PROP_USER_PROPERTY):
            if let pair = unsafe pair(property, identifier) {
                result.userProperties.append(pair)
            }
        default: break
        }
    }

    private static func text(_ property: OpaquePointer, _ identifier: Int32) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        _ = unsafe mosquitto_property_read_string(property, identifier, &value, false)
        defer { unsafe LibraryMemory.free(value) }
        guard let value = unsafe value else { return nil }
        return unsafe String(validatingCString: value)
    }

    private static func pair(_ property: OpaquePointer, _ identifier: Int32) -> UserProperty? {
        var (name, value): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
        unsafe (name, value) = (nil, nil)
        _ = unsafe mosquitto_property_read_string_pair(
            property, identifier, &name, &value, false)
        defer {
            unsafe LibraryMemory.free(name)
            unsafe LibraryMemory.free(value)
        }
        guard let name = unsafe name, let value = unsafe value,
              let first = unsafe String(validatingCString: name),
              let second = unsafe String(validatingCString: value) else { return nil }
        return UserProperty(first, second)
    }

    private static func data(_ property: OpaquePointer, _ identifier: Int32) -> [UInt8]? {
        var value: UnsafeMutableRawPointer?
        var length: UInt16 = 0
        let found = unsafe mosquitto_property_read_binary(
            property, identifier, &value, &length, false)
        defer { unsafe LibraryMemory.free(value) }
        guard unsafe found != nil else { return nil }
        return unsafe Array(UnsafeRawBufferPointer(start: value, count: Int(length)))
    }

    private static func number(_ name: mqtt5_property) -> Int32 {
        Int32(truncatingIfNeeded: name.rawValue)
    }
}
