import COpenSSL

/// The OpenSSL library that this process uses.
package enum LinkedOpenSSL {
    /// For example "3.0.11". The corresponding C function is `OpenSSL_version`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION_STRING) else { return "unknown" }
        return unsafe String(cString: text)
    }
}
