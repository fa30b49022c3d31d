import Glibc

/// TCP ports for servers that tests start, stop and start again.
package enum FreePort {
    package struct NoneFound: Error {}

    /// Below what Linux gives to outgoing connections (`ip_local_port_range`, from 32768 on):
    /// nothing takes such a port while its server is away.
    private static let range: ClosedRange<UInt16> = 16_384...32_767

    /// A port of loopback that nobody uses now.
    package static func next() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: range)
            if isFree(port) { return port }
        }
        throw NoneFound()
    }

    /// Whether nobody uses a port of loopback now.
    package static func isFree(_ port: UInt16) -> Bool {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(raw) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe bind(raw, rebound, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
