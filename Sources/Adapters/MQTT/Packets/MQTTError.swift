/// The layer of a broker connection that failed.
package enum Layer: String, Equatable, Sendable, CaseIterable {
    case nameLookup = "name lookup"
    case tcp = "TCP"
    case tls = "TLS"
    case mqtt = "MQTT"
    case brokerLogin = "broker login"
}

/// A failure of a broker connection, sorted by the remedy.
package enum MQTTError: Error, Equatable, Sendable {
    /// The name has no address at present: try again later, or correct the name.
    case nameLookup(String)
    /// No answer, or the network is cut: try again later.
    case tcp(String)
    /// TLS failed: check the certificate, the CA file, the host name and the clock.
    case tls(String)
    /// The broker broke the protocol, or ended the connection for its own reason.
    case mqtt(String, reasonCode: UInt8)
    /// The broker refused the login: authenticate, then try again.
    case brokerLogin(String, reasonCode: UInt8)
    /// A mistake of the caller: a topic, property or option that MQTT does not allow.
    case invalid(String)
    /// More bytes than MQTT or this broker accepts.
    case tooLarge(limit: Int)
    /// Too many messages wait for their acknowledgement: wait until some arrive.
    case tooManyInFlight(limit: Int)
    /// There is no connection: make a new one.
    case notConnected

    /// The layer to show to a person; `nil` for mistakes of the caller.
    package var layer: Layer? {
        switch self {
        case .nameLookup: .nameLookup
        case .tcp: .tcp
        case .tls: .tls
        case .mqtt, .notConnected: .mqtt
        case .brokerLogin: .brokerLogin
        case .invalid, .tooLarge, .tooManyInFlight: nil
        }
    }

    static let hangUp = "the broker closed the connection before it answered"
    /// In TLS 1.3 the client finishes before the server has checked the client's certificate.
    static let hangUpWithinTLS = hangUp + "; it may require a client certificate, or another one"

    /// Whether the broker may only know an older MQTT. It says so, or it hangs up on MQTT 5, as
    /// RabbitMQ before 3.13 does. Use it for an MQTT 5 attempt that did not connect. A cut network
    /// looks like a hang-up, so a hang-up does not count if the broker `hasSpoken5`.
    package func suggestsOlderVersion(hasSpoken5: Bool) -> Bool {
        switch self {
        case .mqtt(_, ReasonCode.unsupportedProtocolVersion): true
        case .mqtt(Self.hangUp, _), .tls(Self.hangUpWithinTLS): !hasSpoken5
        default: false
        }
    }

    /// Whether the broker ended the connection because another one has the same client id.
    package var isTakeover: Bool {
        if case .mqtt(_, ReasonCode.sessionTakenOver) = self { true } else { false }
    }

    /// Whether the broker sent a code that refuses. Before the connection is made, it refuses the
    /// client. Source: MQTT 5 §3.2.2.2, MQTT 3.1.1 §3.2.2.3.
    package var isRefusal: Bool {
        switch self {
        case .mqtt(_, let code), .brokerLogin(_, let code): code >= 0x80 && !isTakeover
        default: false
        }
    }

    /// Whether another address of the same name may work, because nobody judged the login at this
    /// one. A starting node, or a load balancer without a node behind it, hangs up or waits.
    package var mayBeOfAddress: Bool {
        switch self {
        case .tcp, .tls, .mqtt: true
        default: false
        }
    }

    /// The error of the attempt that got further, of two addresses. It says more.
    package func orFurther(_ other: MQTTError) -> MQTTError {
        other.progress > progress ? other : self
    }

    private var progress: Int {
        switch self {
        case _ where suggestsOlderVersion(hasSpoken5: false): 4
        case .mqtt: 3
        case .tls: 2
        case .tcp: 1
        default: 0
        }
    }

    /// The error of a connection that ended on `layer`.
    init(_ layer: Layer, _ text: String, reasonCode: UInt8) {
        switch layer {
        case .nameLookup: self = .nameLookup(text)
        case .tcp: self = .tcp(text)
        case .tls: self = .tls(text)
        case .mqtt: self = .mqtt(text, reasonCode: reasonCode)
        case .brokerLogin: self = .brokerLogin(text, reasonCode: reasonCode)
        }
    }
}

extension MQTTError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .nameLookup(let text), .tcp(let text), .tls(let text), .mqtt(let text, _),
             .brokerLogin(let text, _):
            "\(layer?.rawValue ?? "MQTT"): \(text)"
        case .invalid(let text): text
        case .tooLarge(let limit): "larger than the \(limit) bytes that are allowed"
        case .tooManyInFlight(let limit): "\(limit) messages wait for their acknowledgement"
        case .notConnected: "MQTT: not connected"
        }
    }
}

/// The reason codes that callers use. Source: MQTT 5 §2.4.
package enum ReasonCode {
    package static let success: UInt8 = 0x00
    package static let unspecifiedError: UInt8 = 0x80
    package static let malformedPacket: UInt8 = 0x81
    package static let protocolError: UInt8 = 0x82
    package static let unsupportedProtocolVersion: UInt8 = 0x84
    package static let clientIdentifierNotValid: UInt8 = 0x85
    package static let badUserNameOrPassword: UInt8 = 0x86
    package static let notAuthorized: UInt8 = 0x87
    package static let serverUnavailable: UInt8 = 0x88
    package static let banned: UInt8 = 0x8A
    package static let badAuthenticationMethod: UInt8 = 0x8C
    package static let sessionTakenOver: UInt8 = 0x8E
    package static let topicNameInvalid: UInt8 = 0x90
    package static let packetTooLarge: UInt8 = 0x95
    package static let quotaExceeded: UInt8 = 0x97
    package static let administrativeAction: UInt8 = 0x98
    package static let payloadFormatInvalid: UInt8 = 0x99

    /// libmosquitto's text for a reason code. The corresponding C function is
    /// `mosquitto_reason_string`.
    package static func text(_ code: UInt8) -> String { Library.reason(code) }

    /// Whether a DISCONNECT with this code refers to a packet that was sent. Source: MQTT 5
    /// §3.14.2.1.
    package static func blamesPacket(_ code: UInt8) -> Bool {
        [malformedPacket, protocolError, topicNameInvalid, packetTooLarge,
         payloadFormatInvalid].contains(code)
    }

    /// Whether new credentials may help: the broker refused the credentials or the client.
    package static func isLogin(_ code: UInt8) -> Bool {
        [clientIdentifierNotValid, badUserNameOrPassword, notAuthorized, banned,
         badAuthenticationMethod].contains(code)
    }

    /// Whether a SUBACK may contain this code. Source: MQTT 5 §3.9.3, MQTT 3.1.1 §3.9.3.
    static func mayAnswerSubscription(_ code: UInt8, _ version: ProtocolVersion) -> Bool {
        let failures: Set<UInt8> = version == .v311
            ? [0x80] : [0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2]
        return code <= 2 || failures.contains(code)
    }

    /// The MQTT 5 code for a 3.1.1 return code. A reserved return code is a refusal, too. Source:
    /// MQTT 3.1.1 §3.2.2.3.
    static func fromVersion311(_ code: UInt8) -> UInt8 {
        switch code {
        case 1: unsupportedProtocolVersion
        case 2: clientIdentifierNotValid
        case 3: serverUnavailable
        case 4: badUserNameOrPassword
        case 5: notAuthorized
        default: code < 0x80 ? unspecifiedError : code
        }
    }
}
