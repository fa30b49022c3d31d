/// The version of MQTT that is spoken. 3.1.1 has no properties: programs say "degraded".
package enum ProtocolVersion: Equatable, Sendable {
    case v5
    case v311
}

/// What a broker says of itself when it lets a client in. Source: MQTT 5 §3.2.2.3.
package struct ConnectAck: Equatable, Sendable {
    /// The broker still knows this client's subscriptions and what was not acknowledged.
    package let sessionPresent: Bool
    /// How many messages it takes unacknowledged.
    package let receiveMaximum: UInt16
    /// The longest packet it takes, in bytes; `nil` without a limit of its own.
    package let maximumPacketSize: UInt32?
    package let version: ProtocolVersion
    package let maximumQoS: QoS
    package let retainAvailable: Bool
    package let sharedSubscriptionsAvailable: Bool
    /// The keep-alive that the broker asked for instead of ours, in seconds.
    package let serverKeepAlive: UInt16?
}

/// What happened on a connection, in the order in which it happened.
///
/// `refused` and `disconnected` come once, last: make a new connection after them.
package enum ConnectionEvent: Sendable {
    case connected(ConnectAck)
    /// The broker's answer to CONNECT, as a code of MQTT 5 (3.1.1 codes are translated).
    /// `ReasonCode.unsupportedProtocolVersion`: try again with `.v311`.
    case refused(reasonCode: UInt8, text: String)
    /// `reasonCode` is the broker's (0x80 and above), else 0.
    case disconnected(reasonCode: UInt8, text: String, layer: Layer)
    case message(IncomingMessage)
    /// The PUBACK of an `atLeastOnce` message, with its reason code (0x80 and above: the
    /// broker did not take it), or an `atMostOnce` message's departure.
    case published(packetID: Int32, reasonCode: UInt8)
    /// One code for each filter: 0 or 1 is the level granted, 0x80 and above a refusal.
    case subscribed(packetID: Int32, [UInt8])
    case unsubscribed(packetID: Int32)

    /// The end that this event is, as an error; `nil` for all others.
    package var failure: MQTTError? {
        switch self {
        case .refused(let code, let text):
            MQTTError(ReasonCode.isLogin(code) ? .brokerLogin : .mqtt, text, reasonCode: code)
        case .disconnected(let code, let text, let layer):
            MQTTError(layer, text, reasonCode: code)
        default: nil
        }
    }
}
