import COpenSSL

/// Whether both hold the same bytes. The time depends only on the lengths, never on the place of a
/// difference. The lengths are compared first and are not secret.
///
/// The corresponding C function is `CRYPTO_memcmp`.
package func constantTimeEquals(
    _ left: some Collection<UInt8>, _ right: some Collection<UInt8>
) -> Bool {
    guard left.count == right.count else { return false }
    let left = Array(left)
    let right = Array(right)
    return unsafe CRYPTO_memcmp(left, right, left.count) == 0
}
