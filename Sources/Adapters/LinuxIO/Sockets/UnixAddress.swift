import Glibc

/// The address of a Unix socket: a path, or a name in the abstract namespace (first byte `@`).
struct UnixAddress {
    private var address = sockaddr_un()
    private let length: socklen_t

    /// `nil` if the path is empty, contains a NUL or is too long for a socket.
    init?(_ path: String) {
        var bytes = Array(path.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard !bytes.isEmpty, bytes.count < capacity, !bytes.contains(0) else { return nil }
        if isAbstract { bytes[0] = 0 }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            unsafe target.copyBytes(from: bytes)
        }
        // The length ends an abstract name; a NUL ends a path.
        let offset = MemoryLayout.size(ofValue: address) - capacity
        length = socklen_t(offset + bytes.count + (isAbstract ? 0 : 1))
    }

    /// Lends the address in the form that socket calls take.
    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe body(rebound, length)
            }
        }
    }

    /// Returns a new non-blocking stream socket that is connected to this address. Throws EAGAIN if
    /// the queue of waiting connections has no room within `patience`. The connection that waits
    /// longest is served first. Source: connect(2), unix(7); SO_SNDTIMEO in socket(7).
    func connect(within patience: Duration) throws(SystemError) -> Descriptor {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { throw .last("socket") }
        let handle = Descriptor(owning: raw)
        // Zero would mean no limit.
        let milliseconds = max(1, Int(patience / .milliseconds(1)))
        var limit = timeval(
            tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        let size = socklen_t(MemoryLayout<timeval>.size)
        guard unsafe setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &limit, size) == 0 else {
            throw .last("setsockopt")
        }
        guard unsafe withPointer({ unsafe Glibc.connect(raw, $0, $1) }) == 0 else {
            throw .last("connect")
        }
        guard fcntl(raw, F_SETFL, O_NONBLOCK) == 0 else { throw .last("fcntl") }
        return handle
    }

    /// Returns a new stream socket that is connected to this address.
    func connect(flags: Int32 = 0) throws(SystemError) -> Descriptor {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | flags
                            | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { throw .last("socket") }
        let handle = Descriptor(owning: raw)
        guard unsafe withPointer({ unsafe Glibc.connect(raw, $0, $1) }) == 0 else {
            throw .last("connect")
        }
        return handle
    }
}
