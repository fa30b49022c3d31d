import Foundation
import Glibc
import LinuxIO

/// A broker that says what a test tells it to, one connection after the other.
final class FakeBroker {
    let port: UInt16
    private let descriptor: Int32
    private let thread: WorkerThread

    /// What to answer to a packet; `nil` hangs up.
    typealias Answer = @Sendable ([UInt8]) -> [UInt8]?

    /// - Parameter answer: called with each chunk that arrives, which in these tests is one
    ///   packet.
    init(_ answer: @escaping Answer) throws {
        (descriptor, port) = try Loopback.listener()
        let listener = descriptor
        thread = try WorkerThread(name: "fake broker") {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Self.serve(client, answer)
                close(client)
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        thread.join()
        close(descriptor)
    }

    private static func serve(_ client: Int32, _ answer: Answer) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(client, &buffer, buffer.count, 0)
            guard count > 0, let bytes = answer(Array(buffer.prefix(count))) else { return }
            _ = unsafe send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// CONNACK of MQTT 5: success, no properties.
    static let welcome: [UInt8] = [0x20, 0x03, 0x00, 0x00, 0x00]
}
