/// The part of the way to a broker on which something failed.
package enum Layer: String, Equatable, Sendable, CaseIterable {
    case nameLookup = "name lookup"
    case tcp = "TCP"
    case tls = "TLS"
    case mqtt = "MQTT"
    case brokerLogin = "broker login"
}

/// What a broker connection could not do, sorted by what the caller can do about it.
package enum MQTTError: Error, Equatable, Sendable {
    /// The name has no address now: try again later, or correct the name.
    case nameLookup(String)
    /// Nobody answers there, or the way is cut: try again later.
    case tcp(String)
    /// No trust or no agreement: certificate, CA file, host name, clock.
    case tls(String)
    /// The broker broke the protocol, or ended the connection for a reason of its own.
    case mqtt(String, reasonCode: UInt8)
    /// The broker does not know this client or its password: authenticate, then try again.
    case brokerLogin(String, reasonCode: UInt8)
    /// A fault of the caller: a topic, a property, an option that MQTT does not allow.
    case invalid(String)
    /// More bytes than MQTT or this broker takes.
    case tooLarge(limit: Int)
    /// Too many messages wait for their acknowledgement: wait for some.
    case tooManyInFlight(limit: Int)
    /// There is no connection (any more): make a new one.
    case notConnected

    /// The layer to name to a person; `nil` for the caller's own faults.
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
    /// Within TLS 1.3 a client is done before the server has judged its certificate.
    static let hangUpWithinTLS = hangUp + "; it may ask for a certificate of ours, or for another"

    /// Whether the broker may speak only an older MQTT: it says so, or it hangs up on what it
    /// cannot read, as RabbitMQ before 3.13 does. To be asked of an attempt with version 5 that
    /// brought no connection. A cut network looks like a hang-up, so of a broker that
    /// `hasSpoken5` a hang-up says nothing.
    package func suggestsOlderVersion(hasSpoken5: Bool) -> Bool {
        switch self {
        case .mqtt(_, ReasonCode.unsupportedProtocolVersion): true
        case .mqtt(Self.hangUp, _), .tls(Self.hangUpWithinTLS): !hasSpoken5
        default: false
        }
    }

    /// Whether the broker ended the connection for another one of the same client id.
    package var isTakeover: Bool {
        if case .mqtt(_, ReasonCode.sessionTakenOver) = self { true } else { false }
    }

    /// Whether the broker answered with a code that refuses: to let a client in, where it comes
    /// before the connection was made. Source: MQTT 5 §3.2.2.2, MQTT 3.1.1 §3.2.2.3.
    package var isRefusal: Bool {
        switch self {
        case .mqtt(_, let code), .brokerLogin(_, let code): code >= 0x80 && !isTakeover
        default: false
        }
    }

    /// Whether another address of the same name may do better: at this one nobody judged the
    /// login. A node that is starting, or a balancer without one behind it, hangs up or waits.
    package var mayBeOfAddress: Bool {
        switch self {
        case .tcp, .tls, .mqtt: true
        default: false
        }
    }

    /// Of two addresses' errors the one that tells more: of the attempt that came further.
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
        case .tooLarge(let limit): "larger than the \(limit) bytes that are taken"
        case .tooManyInFlight(let limit): "\(limit) messages wait for their acknowledgement"
        case .notConnected: "MQTT: not connected"
        }
    }
}

/// The reason codes that a caller decides by. Source: MQTT 5 §2.4.
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

    /// libmosquitto's words for a reason code. The corresponding C function is
    /// `mosquitto_reason_string`.
    package static func text(_ code: UInt8) -> String { Library.reason(code) }

    /// Whether a DISCONNECT with this code speaks of a packet that was sent. Source: MQTT 5
    /// §3.14.2.1.
    package static func blamesPacket(_ code: UInt8) -> Bool {
        [malformedPacket, protocolError, topicNameInvalid, packetTooLarge,
         payloadFormatInvalid].contains(code)
    }

    /// Whether new credentials may help: the broker refused these, or this client.
    package static func isLogin(_ code: UInt8) -> Bool {
        [clientIdentifierNotValid, badUserNameOrPassword, notAuthorized, banned,
         badAuthenticationMethod].contains(code)
    }

    /// Source: MQTT 5 §3.9.3, MQTT 3.1.1 §3.9.3.
    static func mayAnswerSubscription(_ code: UInt8, _ version: ProtocolVersion) -> Bool {
        let failures: Set<UInt8> = version == .v311
            ? [0x80] : [0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2]
        return code <= 2 || failures.contains(code)
    }

    /// The code that MQTT 5 has for a return code of 3.1.1; one that is reserved there refuses
    /// all the same. Source: MQTT 3.1.1 §3.2.2.3.
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
