import COpenSSL

/// Whether both hold the same bytes. The time depends on the lengths alone, never on where
/// they differ; lengths are compared first and are no secret.
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
