/// Why a cryptographic operation failed, sorted by what the caller can do.
package enum CryptographyError: Error, Equatable, Sendable {
    /// The input has the wrong length or form. Found before any cryptography.
    case malformed
    /// A tag, a signature or a password did not verify. The message is forged, damaged or for
    /// another recipient; the error cannot tell which.
    case notAuthentic
    /// The OpenSSL function of this name failed. The input is not the cause; memory or the
    /// installation may be.
    case openSSL(String)
}
