import COpenSSL
import Cryptography
import NIOCore

/// One TLS connection in memory: network bytes go in and come out, and plain text goes in and comes
/// out. For one thread at a time.
///
/// The corresponding C types are `SSL` and two memory `BIO`s, which it owns.
@safe
final class TLSServerConnection {
    private let raw: OpaquePointer
    private let fromNetwork: OpaquePointer
    private let toNetwork: OpaquePointer

    /// The result of a step.
    enum Step {
        case done
        /// More bytes from the network are needed.
        case waiting
        /// The peer will send no more: its `close_notify` arrived.
        case ended
        /// The connection failed. `output` returns the alert for the peer.
        case failed
    }

    /// A record has at most 16 KiB of text. Source: RFC 8446 §5.1.
    private static let record = 16 * 1024

    init(_ context: TLSServerContext) throws(CryptographyError) {
        let connection = try unsafe context.makeConnection()
        guard let input = unsafe BIO_new(BIO_s_mem()), let output = unsafe BIO_new(BIO_s_mem())
        else {
            // `input` is not freed if only `output` failed: the process has no memory left.
            unsafe SSL_free(connection)
            throw .openSSL("BIO_new")
        }
        // An empty buffer is not the end of the connection.
        _ = unsafe BIO_ctrl(input, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        unsafe SSL_set_bio(connection, input, output)
        unsafe (raw, fromNetwork, toNetwork) = (connection, input, output)
    }

    deinit { unsafe SSL_free(raw) }

    /// Takes bytes from the network.
    func take(_ bytes: ByteBuffer) {
        unsafe bytes.withUnsafeReadableBytes { bytes in
            _ = unsafe BIO_write(fromNetwork, bytes.baseAddress, Int32(bytes.count))
        }
    }

    /// The bytes for the network; nil if there are none.
    func output(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
        let count = unsafe BIO_ctrl_pending(toNetwork)
        guard count > 0 else { return nil }
        var buffer = allocator.buffer(capacity: count)
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
            let read = unsafe BIO_read(toNetwork, room.baseAddress, Int32(count))
            return max(Int(read), 0)
        }
        return buffer
    }

    /// The corresponding C function is `SSL_do_handshake`.
    func shakeHands() -> Step {
        ERR_clear_error()
        return unsafe sort(SSL_do_handshake(raw))
    }

    /// Appends all plain text that has arrived. The corresponding C function is `SSL_read`.
    func read(into text: inout ByteBuffer) -> Step {
        while true {
            var result: Int32 = 0
            ERR_clear_error()
            unsafe text.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.record) { room in
                unsafe result = SSL_read(raw, room.baseAddress, Int32(Self.record))
                return max(Int(result), 0)
            }
            guard result <= 0 else { continue }
            return sort(result)
        }
    }

    /// Encrypts all of `text`, or nothing. The corresponding C function is `SSL_write_ex`.
    func write(_ text: ByteBuffer) -> Step {
        guard text.readableBytes > 0 else { return .done }
        ERR_clear_error()
        return unsafe text.withUnsafeReadableBytes { text in
            var written = 0
            return unsafe sort(SSL_write_ex(raw, text.baseAddress, text.count, &written))
        }
    }

    /// Tells the peer that no more data follows. The corresponding C function is `SSL_shutdown`.
    func end() {
        ERR_clear_error()
        _ = unsafe SSL_shutdown(raw)
        ERR_clear_error()
    }

    private func sort(_ result: Int32) -> Step {
        guard result <= 0 else { return .done }
        defer { ERR_clear_error() }
        switch unsafe SSL_get_error(raw, result) {
        case SSL_ERROR_WANT_READ: return .waiting
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: return .failed
        }
    }
}
