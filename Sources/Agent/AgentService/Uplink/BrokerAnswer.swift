import MQTT

/// What a PUBACK's reason code makes of a write. Source: MQTT 5 §3.4.2.1.
enum BrokerAnswer: Equatable, Sendable {
    case taken
    /// Not now: a quota, or a fault of the broker's own. Codes that no standard has are these:
    /// they lose no write.
    case later
    /// This board may not publish there, by what the broker knows now.
    case forbidden
    /// The same bytes will never be taken.
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
