import COpenSSL

/// Memory that OpenSSL writes a text into. It is wiped when it is freed.
///
/// The corresponding C type is `BIO`, of `BIO_s_secmem`.
@safe
struct PEMText: ~Copyable {
    private let raw: OpaquePointer

    init() throws(CryptographyError) {
        unsafe raw = try OpenSSL.pointer("BIO_new", BIO_new(BIO_s_secmem()))
    }

    deinit { unsafe BIO_free(raw) }

    func withText<R>(
        _ body: (OpaquePointer) throws(CryptographyError) -> R
    ) throws(CryptographyError) -> R {
        try unsafe body(raw)
    }

    /// Gives the written bytes to `body`.
    func withBytes<R>(
        _ body: (UnsafeRawBufferPointer) -> R
    ) throws(CryptographyError) -> R {
        var start: UnsafeMutableRawPointer?
        let count = unsafe BIO_ctrl(raw, BIO_CTRL_INFO, 0, &start)
        guard let start = unsafe start, count > 0 else { throw .openSSL("BIO_get_mem_data") }
        return unsafe body(UnsafeRawBufferPointer(start: start, count: Int(count)))
    }

    /// Calls `body` with a reader of `bytes`. Throws `malformed` if `bytes` is empty or over 1 MiB.
    ///
    /// The corresponding C function is `BIO_new_mem_buf`.
    @unsafe
    static func reading<R>(
        _ bytes: UnsafeRawBufferPointer, _ body: (OpaquePointer) -> R
    ) throws(CryptographyError) -> R {
        guard (1...(1 << 20)).contains(bytes.count) else { throw .malformed }
        let text = try unsafe OpenSSL.pointer(
            "BIO_new_mem_buf", BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)))
        defer { unsafe BIO_free(text) }
        return unsafe body(text)
    }
}
