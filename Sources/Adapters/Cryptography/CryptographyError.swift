/// Why a cryptographic operation gave no result, sorted by what the caller can do.
package enum CryptographyError: Error, Equatable, Sendable {
    /// The input has the wrong length or shape. Found before any cryptography was done.
    case malformed
    /// A tag, a signature or a password did not verify: the message is forged, damaged or
    /// for someone else. Which of these cannot be told.
    case notAuthentic
    /// OpenSSL failed in the function of this name. No input explains it; memory or the
    /// installation may.
    case openSSL(String)
}
