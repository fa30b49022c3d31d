import COpenSSL

/// The OpenSSL that this process runs on.
package enum LinkedOpenSSL {
    /// Such as "3.0.11". The corresponding C function is `OpenSSL_version`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION_STRING) else { return "unknown" }
        return unsafe String(cString: text)
    }
}
