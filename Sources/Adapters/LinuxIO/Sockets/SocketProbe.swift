import Glibc

/// Asks about the state of a socket that a library owns.
package enum SocketProbe {
    /// Whether this process may connect to a Unix socket that is there.
    ///
    /// The corresponding C function is `access`. Source: unix(7).
    package static func mayConnect(to path: String) -> Bool { unsafe access(path, W_OK) == 0 }

    package enum ConnectState: Equatable, Sendable {
        case pending
        case connected
        case failed(SystemError)
    }

    /// The progress of a non-blocking `connect`. A failure is reported only once.
    ///
    /// The corresponding C functions are `getsockopt` with `SO_ERROR` and `getpeername`.
    package static func connectState(_ descriptor: Int32) -> ConnectState {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else {
            return .failed(.last("getsockopt"))
        }
        guard code == 0 else { return .failed(SystemError("connect", code: code)) }
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe getpeername(descriptor, rebound, &length)
            }
        }
        if result == 0 { return .connected }
        guard errno == ENOTCONN else { return .failed(.last("getpeername")) }
        // A broken connection has no peer either, and the library may already have taken its error.
        // A broken socket is ready; a socket that still connects is not.
        guard isReady(descriptor) else { return .pending }
        let cause = hasStood(descriptor) ? ECONNRESET : ECONNREFUSED
        return .failed(SystemError("connect", code: cause))
    }

    /// Whether the peer ever answered: only then is there a round-trip time.
    ///
    /// The corresponding C option is `TCP_INFO`. Source: tcp(7).
    private static func hasStood(_ descriptor: Int32) -> Bool {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        guard unsafe getsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return true }
        return info.tcpi_rtt > 0
    }

    private static func isReady(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    package enum Peek: Equatable, Sendable {
        case nothing
        case data
        case closed
        case failed(SystemError)
    }

    /// Whether data waits to be read. Does not take it.
    ///
    /// The corresponding C function is `recv` with `MSG_PEEK`.
    package static func peek(_ descriptor: Int32) -> Peek {
        var byte: UInt8 = 0
        let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
        let count = unsafe recv(descriptor, &byte, 1, flags)
        if count > 0 { return .data }
        if count == 0 { return .closed }
        return errno == EAGAIN || errno == EINTR ? .nothing : .failed(.last("recv"))
    }

    /// Acknowledges received TCP data at once.
    ///
    /// A sender that gathers small writes (Nagle) waits for the acknowledgement, and the kernel may
    /// delay it by up to 40 ms. The effect is temporary, so call it again after each read. Does
    /// nothing on other sockets. The corresponding C option is `TCP_QUICKACK`.
    package static func acknowledge(_ descriptor: Int32) {
        var value: Int32 = 1
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_QUICKACK, &value,
                              socklen_t(MemoryLayout<Int32>.size))
    }
}

/// Memory that a C library allocated with `malloc` and its caller must free.
package enum LibraryMemory {
    /// The corresponding C function is `free`.
    @unsafe
    package static func free(_ pointer: UnsafeMutableRawPointer?) {
        unsafe Glibc.free(pointer)
    }
}
