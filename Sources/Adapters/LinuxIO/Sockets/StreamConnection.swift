import Glibc

/// One client of a stream socket that asks once and is answered once. Never blocks.
package final class StreamConnection {
    package enum Input: Equatable {
        /// What has come so far.
        case bytes([UInt8])
        /// The other end has said all that it will, and nothing new.
        case closed
    }

    private let handle: Descriptor
    private var received: [UInt8] = []
    private var unsent = UnsentBytes()

    init(_ handle: consuming Descriptor) { self.handle = handle }

    /// To be polled: for reading always, for writing while `hasUnsent`.
    package var descriptor: Int32 { handle.raw }
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Takes what has arrived, and returns all of it since the first byte: at most `limit`
    /// bytes and one more, so that a caller sees that there are too many.
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

    /// Takes what has arrived and throws it away. `false`: the other end is gone.
    package func discard() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        guard let result = try? handle.read(into: &chunk) else { return false }
        if case .end = result { return false }
        return true
    }

    /// Queues bytes and sends what the socket takes now. `false`: drop the connection.
    package func send(_ bytes: [UInt8]) -> Bool {
        unsent.add(bytes)
        return flush()
    }

    /// Sends what the socket takes now. `false`: the other end is gone.
    package func flush() -> Bool { unsent.flush(to: handle) }

    /// Nothing more is sent; what was is still delivered. The corresponding C function is
    /// `shutdown`.
    package func finish() { _ = shutdown(handle.raw, Int32(SHUT_WR)) }
}
