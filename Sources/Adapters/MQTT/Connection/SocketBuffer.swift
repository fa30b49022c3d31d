import CSocketBuffer
import LinuxIO

/// A buffer between libmosquitto and its socket, so that one system call carries many packets.
///
/// It works from the opening of the connection until its socket is closed. If it cannot work or is
/// not wanted, libmosquitto uses the socket directly. See `socket_buffer.h`.
@safe
struct SocketBuffer: ~Copyable {
    private let raw: OpaquePointer?

    /// Makes no buffer.
    init() { unsafe raw = nil }

    init(_ descriptor: Int32) { unsafe raw = socket_buffer_new(descriptor) }

    deinit {
        if let raw = unsafe raw { unsafe socket_buffer_free(raw) }
    }

    /// Whether it holds received bytes, which no poll reports.
    var hasUnread: Bool {
        guard let raw = unsafe raw else { return false }
        return unsafe socket_buffer_unread(raw) > 0
    }

    /// Whether it holds bytes that the socket has not taken yet.
    var hasUnsent: Bool {
        guard let raw = unsafe raw else { return false }
        return unsafe socket_buffer_unsent(raw) > 0
    }

    /// While gathering, it keeps the bytes that libmosquitto writes until `flush`. It sends them
    /// earlier if it is full.
    func gather(_ isWanted: Bool) {
        if let raw = unsafe raw { unsafe socket_buffer_gather(raw, isWanted) }
    }

    /// Sends the gathered bytes, as far as the socket takes them; see `hasUnsent`.
    func flush() throws(SystemError) {
        guard let raw = unsafe raw else { return }
        let failure = unsafe socket_buffer_flush(raw)
        guard failure == 0 else { throw SystemError("write", code: failure) }
    }
}

/// Suppresses libmosquitto's wake-ups. libmosquitto writes to a socket pair for each queued packet,
/// to wake a thread. No such thread runs here, so the system call fails once the pair is full.
enum WakeUps {
    /// Runs a call into libmosquitto without wake-ups.
    static func muted(_ call: () -> Int32) -> Int32 {
        socket_wakes_mute(true)
        defer { socket_wakes_mute(false) }
        return call()
    }

    /// While withheld, this thread gets no socket pair. libmosquitto logs that and works without
    /// the pair.
    static func withholdPair(_ isWanted: Bool) { socket_pairs_withhold(isWanted) }
}
