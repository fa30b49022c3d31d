import CMosquitto
import CSocketBuffer

/// The linked libmosquitto.
package enum Library {
    /// Runs `mosquitto_lib_init` once in the process. It is never undone, because other threads may
    /// have connections.
    static let start: Void = { _ = mosquitto_lib_init() }()

    /// The linked version, such as "2.0.11".
    ///
    /// The corresponding C function is `mosquitto_lib_version`.
    package static var version: String {
        let (major, minor, revision) = parts
        return "\(major).\(minor).\(revision)"
    }

    /// Whether the linked version ends the process on some malformed MQTT 5 packets.
    ///
    /// Before 2.0.16 an unexpected property triggers an assertion, unless `PacketGuard` refuses the
    /// packet first. Source: the ChangeLog of mosquitto 2.0.16.
    package static var abortsOnMalformedPackets: Bool {
        parts < (2, 0, 16) && !packet_guards_are_called()
    }

    private static var parts: (Int32, Int32, Int32) {
        var (major, minor, revision): (Int32, Int32, Int32) = (0, 0, 0)
        _ = unsafe mosquitto_lib_version(&major, &minor, &revision)
        return (major, minor, revision)
    }

    /// libmosquitto's text for one of its error codes.
    static func text(_ code: Int32) -> String {
        guard let text = unsafe mosquitto_strerror(code) else { return "error \(code)" }
        return unsafe sentence(String(cString: text))
    }

    /// libmosquitto's text for a reason code of MQTT 5.
    static func reason(_ code: UInt8) -> String {
        guard let text = unsafe mosquitto_reason_string(Int32(code)) else {
            return "reason \(code)"
        }
        return unsafe sentence(String(cString: text))
    }

    /// Removes the full stop that some of the texts have.
    private static func sentence(_ text: String) -> String {
        text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
