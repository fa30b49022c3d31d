import COpenSSL

/// The named parameters of one OpenSSL call.
///
/// It holds pointers and copies nothing, so the added bytes must outlive the call. Names and texts
/// are static for this reason. The corresponding C type is `OSSL_PARAM`.
@unsafe
struct ParameterList {
    private var list: [OSSL_PARAM]

    init() {
        unsafe list = []
        unsafe list.reserveCapacity(6)
    }

    mutating func add(_ name: StaticString, text: StaticString) {
        // OpenSSL only reads the text, although its constructor takes a mutable pointer.
        let value = unsafe UnsafeMutablePointer(mutating: Self.characters(text))
        unsafe list.append(
            OSSL_PARAM_construct_utf8_string(
                Self.characters(name), value, text.utf8CodeUnitCount))
    }

    /// Adds nothing for empty bytes: for every use here, absent and empty are the same.
    mutating func add(_ name: StaticString, bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        let value = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        unsafe list.append(
            OSSL_PARAM_construct_octet_string(Self.characters(name), value, bytes.count))
    }

    /// Calls `body` with the list and its end mark.
    func withList(_ body: (UnsafePointer<OSSL_PARAM>) -> Int32) -> Int32 {
        let closed = unsafe list + [OSSL_PARAM_construct_end()]
        return unsafe body(closed)
    }

    private static func characters(_ text: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
