import COpenSSL

/// OpenSSL's return conventions, one function each.
///
/// Each takes the name of the function that was called and what it returned. On failure it
/// empties the thread's error queue, so that no later call (a TLS read, which judges by that
/// queue) takes an old error for its own.
enum OpenSSL {
    /// 1 is success, anything else is failure.
    static func one(_ function: StaticString, _ result: Int32) throws(CryptographyError) {
        guard result == 1 else { throw failure(function) }
    }

    /// A positive number is success: 1 or a count.
    static func positive(_ function: StaticString, _ result: Int32) throws(CryptographyError) {
        guard result > 0 else { throw failure(function) }
    }

    /// A pointer is success, NULL is failure.
    static func pointer(
        _ function: StaticString, _ result: OpaquePointer?
    ) throws(CryptographyError) -> OpaquePointer {
        guard let result = unsafe result else { throw failure(function) }
        return unsafe result
    }

    /// 1 is yes, 0 is no, a negative number is failure.
    static func verdict(
        _ function: StaticString, _ result: Int32
    ) throws(CryptographyError) -> Bool {
        switch result {
        case 1: return true
        case 0:
            ERR_clear_error()
            return false
        default: throw failure(function)
        }
    }

    private static func failure(_ function: StaticString) -> CryptographyError {
        ERR_clear_error()
        return .openSSL("\(function)")
    }
}
