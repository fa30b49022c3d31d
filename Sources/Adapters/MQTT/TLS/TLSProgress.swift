import CMosquitto
import COpenSSL

/// The state of libmosquitto's TLS connection. libmosquitto owns the connection.
///
/// libmosquitto reports "wants to write" during a whole handshake (mosquitto#3745). A poll loop
/// that relied on it would never sleep. OpenSSL knows the event that it waits for.
@safe
struct TLSProgress {
    private let raw: OpaquePointer

    /// `nil` without TLS, or before there is a socket.
    init?(_ client: OpaquePointer) {
        guard let pointer = unsafe mosquitto_ssl_get(client) else { return nil }
        unsafe raw = OpaquePointer(pointer)
    }

    var isHandshaking: Bool { unsafe SSL_is_init_finished(raw) == 0 }

    /// Whether OpenSSL waits for room to write; otherwise it waits for bytes to read.
    var wantsWrite: Bool { unsafe SSL_want(raw) == SSL_WRITING }

    /// Whether decrypted bytes wait inside OpenSSL, where no poll sees them.
    var hasBufferedInput: Bool { unsafe SSL_pending(raw) > 0 }
}
