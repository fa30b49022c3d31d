import Glibc

/// An open file descriptor. It is closed when its owner is freed.
///
/// The corresponding C functions are `read`, `write` and `close`.
package struct Descriptor: ~Copyable, Sendable {
    package let raw: Int32

    /// Takes over `raw`. No other code may close it.
    package init(owning raw: Int32) {
        self.raw = raw
    }

    deinit { _ = close(raw) }

    /// The result of one read.
    enum Read {
        case bytes(Int)
        case end
        case wouldBlock
    }

    /// Reads once into `buffer`. Repeats an interrupted call.
    func read(into buffer: inout [UInt8]) throws(SystemError) -> Read {
        while true {
            let capacity = buffer.count
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe Glibc.read(raw, bytes.baseAddress, capacity)
            }
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno == EAGAIN { return .wouldBlock }
            if errno != EINTR { throw .last("read") }
        }
    }

    /// Reads to the end of the file. `nil` if it has more than `limit` bytes.
    func readAll(limit: Int) throws(SystemError) -> [UInt8]? {
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            switch try read(into: &chunk) {
            case .bytes(let count):
                guard all.count + count <= limit else { return nil }
                all.append(contentsOf: chunk.prefix(count))
            case .end: return all
            case .wouldBlock: throw SystemError("read", code: EAGAIN)
            }
        }
    }

    /// Writes as much as the descriptor takes now. Returns the number of bytes; 0 if it would
    /// block.
    func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        while true {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(raw, buffer.baseAddress, buffer.count)
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { throw .last("write") }
        }
    }

    /// Like `write`, for a socket. If the peer is gone, it throws and raises no SIGPIPE.
    func send(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        while true {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(raw, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { throw .last("send") }
        }
    }

    /// Writes everything to a blocking descriptor.
    func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try write(rest)
            guard count > 0 else { throw SystemError("write", code: EIO) }
            rest = rest.dropFirst(count)
        }
    }
}
