import COpenSSL

/// Checks OpenSSL's return values, with one function for each convention.
///
/// Each takes the name of the called function and its result. On failure it clears the thread's
/// error queue, because a later TLS read would take an old error for its own.
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
