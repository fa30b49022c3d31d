import CLinux
import Glibc

/// The process at the other end of a Unix socket, as the kernel reports it.
///
/// The corresponding C option is `SO_PEERCRED`.
package struct Peer: Equatable, Sendable {
    package let user: UInt32
    package let group: UInt32
    package let process: Int32
}

/// One client of the control socket. It receives lines and sends answers. Never blocks.
package final class ControlConnection {
    /// The result of a read.
    package enum Input: Equatable {
        case incomplete
        case line([UInt8])
        case closed
        case tooLong
    }

    /// The longest line, in bytes, without its newline.
    package static let lineLimit = 65_536
    /// The largest number of unsent bytes. `send` refuses more.
    package static let unsentLimit = 4 * 1_048_576

    package let peer: Peer
    private let handle: Descriptor
    private var received: [UInt8] = []
    private var unsent = UnsentBytes()

    init(_ handle: consuming Descriptor) throws(SystemError) {
        var credentials = peer_credentials()
        var size = socklen_t(MemoryLayout<peer_credentials>.size)
        guard unsafe getsockopt(handle.raw, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0
        else { throw .last("getsockopt") }
        peer = Peer(user: credentials.user, group: credentials.group, process: credentials.process)
        self.handle = handle
    }

    /// Poll it for reading always, and for writing while `hasUnsent`.
    package var descriptor: Int32 { handle.raw }
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Reads the bytes that have arrived and returns the next whole line, without its newline.
    ///
    /// Call it until it returns `incomplete`. After `closed` or `tooLong`, drop the connection.
    package func read() -> Input {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(received[..<end])
                received.removeSubrange(...end)
                return line.count > Self.lineLimit ? .tooLong : .line(line)
            }
            guard received.count <= Self.lineLimit else { return .tooLong }
            guard let result = try? handle.read(into: &chunk) else { return .closed }
            switch result {
            case .bytes(let count): received.append(contentsOf: chunk.prefix(count))
            case .end: return .closed
            case .wouldBlock: return .incomplete
            }
        }
    }

    /// Queues bytes and sends as many as the socket takes now. `false`: drop the connection.
    package func send(_ bytes: [UInt8]) -> Bool {
        guard unsent.count + bytes.count <= Self.unsentLimit else { return false }
        unsent.add(bytes)
        return flush()
    }

    /// Sends as much as the socket takes now. `false`: the peer is gone; drop the connection.
    package func flush() -> Bool { unsent.flush(to: handle) }
}
