import Glibc
import Synchronization

/// TCP ports for servers that tests start, stop and start again.
package enum FreePort {
    package struct NoneFound: Error {}

    /// Below what Linux gives to outgoing connections (`ip_local_port_range`, from 32768 on):
    /// nothing takes such a port while its server is away. The tests in Python have the half
    /// above these.
    private static let range: Range<UInt16> = 16_384..<24_576
    /// One port after another, so that two tests do not draw the same before either uses it. Each
    /// second one: a software TPM takes the one behind its own.
    private static let drawn = Atomic<UInt16>(.random(in: 0..<4096))

    /// A port of loopback that nobody uses now.
    package static func next() throws -> UInt16 {
        for _ in 0..<100 {
            let number = drawn.wrappingAdd(1, ordering: .relaxed).oldValue % 4096
            let port = range.lowerBound + 2 * number
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
