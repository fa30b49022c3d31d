import Foundation
import FreePorts
import Glibc

/// A server on loopback for one client: it answers the first message with `answer`, goes away at
/// the next one, and hangs up. With an empty answer it goes away at once.
final class HangingUpServer: Sendable {
    let port: UInt16

    private struct NotListening: Error {}

    init(answer: [UInt8]) throws {
        port = try FreePort.next()
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isBound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe bind(raw, rebound, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound, listen(raw, 16) == 0 else { throw NotListening() }
        Self.serve(answer, raw)
    }

    private static func serve(_ answer: [UInt8], _ raw: Int32) {
        Thread.detachNewThread {
            let client = accept(raw, nil, nil)
            var bytes = [UInt8](repeating: 0, count: 65536)
            _ = unsafe read(client, &bytes, bytes.count)
            if !answer.isEmpty {
                _ = unsafe write(client, answer, answer.count)
                _ = unsafe read(client, &bytes, bytes.count)
            }
            close(raw)
            close(client)
        }
    }
}
