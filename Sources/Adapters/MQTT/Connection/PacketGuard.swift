import CSocketBuffer

/// Ends a connection at the first malformed byte, before libmosquitto parses it.
///
/// It works from the opening of the socket until its close. See `packet_guard.h`.
@safe
final class PacketGuard {
    private let raw: OpaquePointer?

    /// `most` is the largest packet in bytes. Nil: MQTT's own limit.
    init(_ descriptor: Int32, isTLS: Bool, version: ProtocolVersion, most: UInt32?) {
        unsafe raw = packet_guard_new(descriptor, isTLS, version == .v5, most ?? .max)
    }

    deinit {
        if let raw = unsafe raw { unsafe packet_guard_free(raw) }
    }

    var hasRefused: Bool {
        guard let raw = unsafe raw else { return false }
        return unsafe packet_guard_has_refused(raw)
    }
}
