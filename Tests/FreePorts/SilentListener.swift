import Glibc

/// A server on loopback that takes connections and never says a word; gone with its owner.
package final class SilentListener: Sendable {
    package let port: UInt16
    private let raw: Int32

    package init() throws {
        port = try FreePort.next()
        raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let handle = raw
        let isBound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe bind(handle, rebound, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        // The kernel takes connections by itself.
        guard isBound, listen(raw, 16) == 0 else { throw FreePort.NoneFound() }
    }

    deinit { close(raw) }
}
