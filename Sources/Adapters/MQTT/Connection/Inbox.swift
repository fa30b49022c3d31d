import CMosquitto
import LinuxIO

/// Records what libmosquitto's callbacks report. Callbacks do nothing else: the connection's owner
/// takes the events after the C call has returned.
///
/// A callback that destroyed its client, or called into it, would use freed memory
/// (mosquitto#2778).
final class Inbox {
    var events: [ConnectionEvent] = []
    /// The bytes of the messages that the present read has recorded.
    var filedBytes = 0
    /// The broker's answer, once it has accepted the connection.
    var ack: ConnectAck?
    /// Whether the last event was recorded. No event comes after it.
    var hasEnded = false
    /// The number of published `atLeastOnce` messages without an acknowledgement.
    var unacknowledged = 0
    /// The number of filters of each subscription that waits for its answer, by packet id.
    var asked: [Int32: Int] = [:]
    /// Whether `mosquitto_loop_write` runs. Only then does "published" mean an `atMostOnce`
    /// message.
    var isWriting = false
    /// The number of messages whose topic is not UTF-8. Their PUBACK is still sent.
    var droppedMessages = 0
    /// Whether to accept a certificate that is not valid yet by our clock.
    var isClockSlow = false
    /// The fault of the broker's certificate.
    var certificateError: String?
    /// The last error line of a TLS handshake.
    var handshakeError: String?
    /// Checks the received bytes, as soon as there is a socket.
    var packetGuard: PacketGuard?
    private let version: ProtocolVersion
    private let isTLS: Bool

    init(_ version: ProtocolVersion, isTLS: Bool) {
        self.version = version
        self.isTLS = isTLS
    }

    func connected(code: Int32, flags: Int32, _ properties: PropertyReader) {
        let raw = UInt8(truncatingIfNeeded: code)
        guard raw == 0 else {
            let code = version == .v5 ? raw : ReasonCode.fromVersion311(raw)
            return end(.refused(reasonCode: code, text: Library.reason(code)))
        }
        let ack = ConnectAck(
            sessionPresent: flags & 1 != 0,
            receiveMaximum: properties.int16(MQTT_PROP_RECEIVE_MAXIMUM) ?? .max,
            maximumPacketSize: properties.int32(MQTT_PROP_MAXIMUM_PACKET_SIZE),
            version: version,
            maximumQoS: properties.byte(MQTT_PROP_MAXIMUM_QOS) == 0
                ? .atMostOnce : .atLeastOnce,
            retainAvailable: properties.byte(MQTT_PROP_RETAIN_AVAILABLE) != 0,
            sharedSubscriptionsAvailable: version == .v5
                && properties.byte(MQTT_PROP_SHARED_SUB_AVAILABLE) != 0,
            serverKeepAlive: properties.int16(MQTT_PROP_SERVER_KEEP_ALIVE))
        self.ack = ack
        events.append(.connected(ack))
    }

    /// Records the end. libmosquitto passes the broker's reason code, from 0x80, or one of its own
    /// errors, below 0x20.
    func disconnected(code: Int32) {
        if packetGuard?.hasRefused == true {
            return end(.disconnected(
                reasonCode: ReasonCode.malformedPacket,
                text: "the broker sent a malformed packet", layer: .mqtt))
        }
        if let reason = UInt8(exactly: code), reason >= 0x80 {
            let layer = ReasonCode.isLogin(reason) ? Layer.brokerLogin : .mqtt
            return end(.disconnected(
                reasonCode: reason, text: Library.reason(reason), layer: layer))
        }
        let (text, layer) = Failure.describe(
            code, systemCode: SystemError.lastCode, isConnected: ack != nil, isTLS: isTLS)
        end(.disconnected(reasonCode: 0, text: text, layer: layer))
    }

    func published(packetID: Int32, reasonCode: Int32) {
        if !isWriting { unacknowledged -= 1 }
        events.append(.published(
            packetID: packetID, reasonCode: UInt8(truncatingIfNeeded: reasonCode)))
    }

    /// Records a SUBACK. If it has another number of codes than filters, or a code that MQTT does
    /// not allow, the connection ends: it is unclear what is subscribed. Source: MQTT 5 §3.9.3,
    /// MQTT 3.1.1 §3.9.3.
    func subscribed(packetID: Int32, _ codes: [UInt8]) {
        let count = asked.removeValue(forKey: packetID)
        guard codes.count == count,
            codes.allSatisfy({ ReasonCode.mayAnswerSubscription($0, version) })
        else {
            return end(.disconnected(
                reasonCode: 0, text: "the broker's SUBACK does not match the request",
                layer: .mqtt))
        }
        events.append(.subscribed(packetID: packetID, codes))
    }

    /// Records the last event. Later ends are echoes of it and are ignored.
    func end(_ event: ConnectionEvent) {
        guard !hasEnded else { return }
        hasEnded = true
        ack = nil
        events.append(event)
    }
}

/// Translates libmosquitto's error codes into texts and layers.
enum Failure {
    /// - Parameter systemCode: `errno`, which some codes refer to.
    static func describe(
        _ code: Int32, systemCode: Int32, isConnected: Bool, isTLS: Bool = false
    ) -> (text: String, layer: Layer) {
        switch mosq_err_t(code) {
        case MOSQ_ERR_SUCCESS: ("disconnected", .mqtt)
        case MOSQ_ERR_CONN_LOST where !isConnected && isTLS: (MQTTError.hangUpWithinTLS, .tls)
        case MOSQ_ERR_CONN_LOST where !isConnected:
            (MQTTError.hangUp, .mqtt)
        case MOSQ_ERR_CONN_LOST: ("the broker closed the connection", .tcp)
        case MOSQ_ERR_KEEPALIVE where !isConnected: ("the broker did not answer", .mqtt)
        case MOSQ_ERR_KEEPALIVE: ("the broker did not answer a ping", .tcp)
        // libmosquitto reports every TLS error after the handshake as EPROTO.
        case MOSQ_ERR_ERRNO where SystemError.isProtocolError(systemCode):
            ("the TLS connection broke", .tls)
        case MOSQ_ERR_ERRNO where systemCode == 0: ("the connection broke", .tcp)
        case MOSQ_ERR_ERRNO: (SystemError.text(systemCode), .tcp)
        case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP: ("the name has no address", .nameLookup)
        case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE, MOSQ_ERR_OCSP:
            (Library.text(code), .tls)
        case MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_MALFORMED_UTF8,
             MOSQ_ERR_DUPLICATE_PROPERTY:
            ("the broker sent a packet that MQTT does not allow", .mqtt)
        default: (Library.text(code), .mqtt)
        }
    }
}

extension mosq_err_t {
    init(_ code: Int32) { self.init(rawValue: code) }
}
