import Glibc

/// One client of a stream socket that sends one request and gets one answer. Never blocks.
package final class StreamConnection {
    package enum Input: Equatable {
        /// All bytes since the first one.
        case bytes([UInt8])
        /// The peer sends no more, or the read failed.
        case closed
    }

    private let handle: Descriptor
    private var received: [UInt8] = []
    private var unsent = UnsentBytes()

    init(_ handle: consuming Descriptor) { self.handle = handle }

    /// Poll it for reading always, and for writing while `hasUnsent`.
    package var descriptor: Int32 { handle.raw }
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Reads the bytes that have arrived and returns all bytes since the first one. It keeps at
    /// most `limit` + 1 bytes, so that the caller sees that there are too many.
    package func read(limit: Int) -> Input {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while received.count <= limit {
            guard let result = try? handle.read(into: &chunk) else { return .closed }
            switch result {
            case .bytes(let count):
                received.append(contentsOf: chunk.prefix(min(count, limit + 1 - received.count)))
            case .end: return .closed
            case .wouldBlock: return .bytes(received)
            }
        }
        return .bytes(received)
    }

    /// Reads arrived bytes and drops them. `false`: the peer is gone.
    package func discard() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        guard let result = try? handle.read(into: &chunk) else { return false }
        if case .end = result { return false }
        return true
    }

    /// Queues bytes and sends as many as the socket takes now. `false`: drop the connection.
    package func send(_ bytes: [UInt8]) -> Bool {
        unsent.add(bytes)
        return flush()
    }

    /// Sends as much as the socket takes now. `false`: the peer is gone.
    package func flush() -> Bool { unsent.flush(to: handle) }

    /// Ends sending. Bytes that were sent are still delivered. The corresponding C function is
    /// `shutdown`.
    package func finish() { _ = shutdown(handle.raw, Int32(SHUT_WR)) }
}
