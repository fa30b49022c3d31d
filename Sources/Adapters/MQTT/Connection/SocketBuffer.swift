import CSocketBuffer
import LinuxIO

/// What libmosquitto reads from its socket and writes to it, many packets a system call.
///
/// It does so from the moment the connection is open until its socket is closed. Where it
/// cannot, or is not asked to, everything works as without it. See `socket_buffer.h`.
@safe
struct SocketBuffer: ~Copyable {
    private let raw: OpaquePointer?

    /// None.
    init() { unsafe raw = nil }

    init(_ descriptor: Int32) { unsafe raw = socket_buffer_new(descriptor) }

    deinit {
        if let raw = unsafe raw { unsafe socket_buffer_free(raw) }
    }

    /// Whether bytes wait in it that no poll tells of.
    var hasUnread: Bool {
        guard let raw = unsafe raw else { return false }
        return unsafe socket_buffer_unread(raw) > 0
    }

    /// Whether bytes wait in it that the socket did not take yet.
    var hasUnsent: Bool {
        guard let raw = unsafe raw else { return false }
        return unsafe socket_buffer_unsent(raw) > 0
    }

    /// While gathering, what libmosquitto writes stays here until `flush`, or is sent when
    /// there is no more room.
    func gather(_ isWanted: Bool) {
        if let raw = unsafe raw { unsafe socket_buffer_gather(raw, isWanted) }
    }

    /// Sends what was gathered, as far as the socket takes it; see `hasUnsent`.
    func flush() throws(SystemError) {
        guard let raw = unsafe raw else { return }
        let failure = unsafe socket_buffer_flush(raw)
        guard failure == 0 else { throw SystemError("write", code: failure) }
    }
}

/// libmosquitto wakes a thread for each packet that it queues, over a socket pair: a system call
/// that fails once the pair is full, for no such thread runs here.
enum WakeUps {
    /// Runs a call into libmosquitto without them.
    static func muted(_ call: () -> Int32) -> Int32 {
        socket_wakes_mute(true)
        defer { socket_wakes_mute(false) }
        return call()
    }

    /// While withheld, this thread gets no socket pair: libmosquitto then has none to wake a
    /// thread by, says so to its log, and works without.
    static func withholdPair(_ isWanted: Bool) { socket_pairs_withhold(isWanted) }
}
