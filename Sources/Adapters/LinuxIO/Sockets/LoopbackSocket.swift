import CLinux
import Glibc

/// A TCP port that only this machine can reach.
///
/// The corresponding C functions are `bind`, `listen` and `accept4`.
package struct LoopbackSocket: ~Copyable {
    private let handle: Descriptor
    /// The port. If 0 was asked for, the kernel chose it.
    package let port: UInt16

    /// `host` is an address in 127.0.0.0/8, `::1` or `localhost`. Any other host throws
    /// `EADDRNOTAVAIL`, even if the machine has that address.
    package init(host: String, port: UInt16) throws(SystemError) {
        let raw = host == "::1" ? try Self.listen6(port) : try Self.listen4(host, port)
        let handle = Descriptor(owning: raw)
        self.port = try Self.port(of: raw)
        self.handle = handle
    }

    /// Poll it for reading.
    package var descriptor: Int32 { handle.raw }

    /// Accepts the next client, or returns nil. Never blocks.
    package func accept() throws(SystemError) -> StreamConnection? {
        try StreamConnection.accept(from: handle.raw)
    }

    private static func listen4(_ host: String, _ port: UInt16) throws(SystemError) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        let text = host == "localhost" ? "127.0.0.1" : host
        guard unsafe inet_pton(AF_INET, text, &address.sin_addr) == 1,
            UInt32(bigEndian: address.sin_addr.s_addr) >> 24 == 127
        else { throw SystemError("bind", code: EADDRNOTAVAIL) }
        return unsafe try bound(AF_INET, &address, MemoryLayout<sockaddr_in>.size)
    }

    private static func listen6(_ port: UInt16) throws(SystemError) -> Int32 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        guard unsafe inet_pton(AF_INET6, "::1", &address.sin6_addr) == 1 else {
            throw SystemError("bind", code: EADDRNOTAVAIL)
        }
        return unsafe try bound(AF_INET6, &address, MemoryLayout<sockaddr_in6>.size)
    }

    /// Returns a listening socket. The caller must close it.
    @unsafe
    private static func bound(
        _ family: Int32, _ address: UnsafeMutableRawPointer, _ size: Int
    ) throws(SystemError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let raw = socket(family, type, 0)
        guard raw >= 0 else { throw .last("socket") }
        // After a restart the port is free even if old connections wait in the kernel.
        var yes: Int32 = 1
        _ = unsafe setsockopt(
            raw, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let result = unsafe bind(
            raw, address.assumingMemoryBound(to: sockaddr.self), socklen_t(size))
        guard result == 0, listen(raw, 16) == 0 else {
            let failure = SystemError.last(result == 0 ? "listen" : "bind")
            _ = close(raw)
            throw failure
        }
        return raw
    }

    private static func port(of raw: Int32) throws(SystemError) -> UInt16 {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe getsockname(raw, rebound, &length)
            }
        }
        guard result == 0 else { throw .last("getsockname") }
        // Both address families have the port in the same two bytes.
        return unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }
}

extension StreamConnection {
    static func accept(from listener: Int32) throws(SystemError) -> StreamConnection? {
        while true {
            let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let raw = accept4(listener, nil, nil, flags)
            if raw >= 0 { return StreamConnection(Descriptor(owning: raw)) }
            if errno == EAGAIN { return nil }
            if errno != EINTR && errno != ECONNABORTED { throw .last("accept") }
        }
    }
}
