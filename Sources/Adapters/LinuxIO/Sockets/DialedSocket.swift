import Glibc

/// A TCP connection to a numeric address, before any protocol is spoken on it.
///
/// The corresponding C functions are `getaddrinfo` with `AI_NUMERICHOST`, `socket` and `connect`.
package struct DialedSocket: ~Copyable {
    private let socket: Descriptor

    /// The descriptor is non-blocking. It is closed when its owner is freed.
    package var descriptor: Int32 { socket.raw }

    /// Connects within `patience`. Nothing is sent.
    package init(
        address: String, port: UInt16, patience: Duration
    ) throws(SystemError) {
        let socket = Descriptor(owning: try Self.connect(address, port))
        var poller = Poller()
        poller.add(socket.raw, read: false, write: true)
        guard try poller.wait(patience) > 0 else {
            throw SystemError("connect", code: ETIMEDOUT)
        }
        switch SocketProbe.connectState(socket.raw) {
        case .connected: break
        case .pending: throw SystemError("connect", code: ETIMEDOUT)
        case .failed(let error): throw error
        }
        self.socket = socket
    }

    /// Starts to connect and returns the socket.
    private static func connect(_ address: String, _ port: UInt16) throws(SystemError) -> Int32 {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(address, "\(port)", &hints, &list) == 0, let found = unsafe list
        else { throw SystemError("getaddrinfo", code: EINVAL) }
        defer { unsafe freeaddrinfo(found) }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let raw = unsafe Glibc.socket(found.pointee.ai_family, kind, 0)
        guard raw >= 0 else { throw .last("socket") }
        let result = unsafe Glibc.connect(raw, found.pointee.ai_addr, found.pointee.ai_addrlen)
        guard result == 0 || errno == EINPROGRESS else {
            let error = SystemError.last("connect")
            _ = close(raw)
            throw error
        }
        return raw
    }
}
