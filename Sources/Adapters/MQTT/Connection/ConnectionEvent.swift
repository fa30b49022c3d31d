/// The MQTT version of a connection. 3.1.1 has no properties, so programs report "degraded".
package enum ProtocolVersion: Equatable, Sendable {
    case v5
    case v311
}

/// The broker's answer when it accepts a connection. Source: MQTT 5 §3.2.2.3.
package struct ConnectAck: Equatable, Sendable {
    /// Whether the broker still has this client's subscriptions and unacknowledged messages.
    package let sessionPresent: Bool
    /// How many unacknowledged messages the broker accepts.
    package let receiveMaximum: UInt16
    /// The longest packet that the broker accepts, in bytes; `nil` without a limit.
    package let maximumPacketSize: UInt32?
    package let version: ProtocolVersion
    package let maximumQoS: QoS
    package let retainAvailable: Bool
    package let sharedSubscriptionsAvailable: Bool
    /// The keep-alive that the broker requires instead of ours, in seconds.
    package let serverKeepAlive: UInt16?
}

/// An event of a connection. Events keep their order.
///
/// `refused` or `disconnected` comes once, as the last event. Make a new connection after it.
package enum ConnectionEvent: Sendable {
    case connected(ConnectAck)
    /// The broker refused CONNECT. The code is one of MQTT 5 (3.1.1 codes are translated).
    /// `ReasonCode.unsupportedProtocolVersion`: try again with `.v311`.
    case refused(reasonCode: UInt8, text: String)
    /// The connection ended. `reasonCode` is the broker's (0x80 and above), else 0.
    case disconnected(reasonCode: UInt8, text: String, layer: Layer)
    case message(IncomingMessage)
    /// The PUBACK of an `atLeastOnce` message, with its reason code; from 0x80 the broker did not
    /// accept the message. For an `atMostOnce` message: it was sent.
    case published(packetID: Int32, reasonCode: UInt8)
    /// One code for each filter: 0 or 1 is the granted level, 0x80 and above a refusal.
    case subscribed(packetID: Int32, [UInt8])
    case unsubscribed(packetID: Int32)

    /// The error, if this event ends the connection; `nil` for all others.
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
