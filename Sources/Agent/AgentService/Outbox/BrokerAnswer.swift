import MQTT

/// The meaning of a PUBACK's reason code for a write. Source: MQTT 5 §3.4.2.1.
enum BrokerAnswer: Equatable, Sendable {
    case taken
    /// Not now: a quota, or a fault of the broker. Unknown codes count as this, so that they lose
    /// no write.
    case later
    /// The broker does not allow this board to publish there at present.
    case forbidden
    /// The broker will never take these bytes.
    case never

    init(_ code: UInt8) {
        switch code {
        case ..<0x80: self = .taken
        case ReasonCode.notAuthorized: self = .forbidden
        case ReasonCode.topicNameInvalid, ReasonCode.payloadFormatInvalid,
            ReasonCode.packetTooLarge:
            self = .never
        default: self = .later
        }
    }
}
