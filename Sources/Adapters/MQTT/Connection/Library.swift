import CMosquitto
import CSocketBuffer

/// libmosquitto as a whole.
package enum Library {
    /// Runs `mosquitto_lib_init` once in the process. It is never undone: connections of
    /// other threads may live.
    static let start: Void = { _ = mosquitto_lib_init() }()

    /// The version that is linked, such as "2.0.11".
    ///
    /// The corresponding C function is `mosquitto_lib_version`.
    package static var version: String {
        let (major, minor, revision) = parts
        return "\(major).\(minor).\(revision)"
    }

    /// Whether the linked version ends the process on some malformed MQTT 5 packets.
    ///
    /// Before 2.0.16 a property where none belongs runs into an assertion, unless `PacketGuard`
    /// sees it before. Source: the ChangeLog of mosquitto 2.0.16.
    package static var abortsOnMalformedPackets: Bool {
        parts < (2, 0, 16) && !packet_guards_are_called()
    }

    private static var parts: (Int32, Int32, Int32) {
        var (major, minor, revision): (Int32, Int32, Int32) = (0, 0, 0)
        _ = unsafe mosquitto_lib_version(&major, &minor, &revision)
        return (major, minor, revision)
    }

    /// libmosquitto's words for one of its own error codes.
    static func text(_ code: Int32) -> String {
        guard let text = unsafe mosquitto_strerror(code) else { return "error \(code)" }
        return unsafe sentence(String(cString: text))
    }

    /// Its words for a reason code of MQTT 5.
    static func reason(_ code: UInt8) -> String {
        guard let text = unsafe mosquitto_reason_string(Int32(code)) else {
            return "reason \(code)"
        }
        return unsafe sentence(String(cString: text))
    }

    /// Without the full stop that some of its texts have.
    private static func sentence(_ text: String) -> String {
        text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
