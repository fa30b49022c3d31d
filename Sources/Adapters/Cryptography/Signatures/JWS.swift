import Sessions

/// Signed tokens in compact form. The content of header and payload is checked elsewhere.
///
/// The key decides the algorithm, never the token's `alg`. Our own tokens use only Ed25519.
/// Source: RFC 7515 §7.1; RFC 8037 §3.1; RFC 8725 §3.1.
package enum JWS {
    /// The largest token, in bytes: 16 KiB.
    package static let limit = 16 * 1024

    /// A token's three parts, decoded but not verified.
    package struct Parts: Equatable, Sendable {
        package let header: [UInt8]
        package let payload: [UInt8]
        package let signature: [UInt8]
        /// The bytes that were signed: the token up to its second dot.
        package let signingInput: [UInt8]

        /// Whether the owner of `key` signed this token. Source: RFC 7515 §5.2.
        package func isSigned(by key: Ed25519PublicKey) -> Bool {
            key.verify(signature, of: signingInput)
        }

        /// The same for keys of other issuers, which may have any supported algorithm.
        package func isSigned(by key: SignatureKey) -> Bool {
            key.verify(signature, of: signingInput)
        }
    }

    /// The token `header.payload.signature`. Source: RFC 7515 §5.1.
    ///
    /// Throws `malformed` for an empty header or a token over 16 KiB.
    package static func sign(
        header: [UInt8], payload: [UInt8], with key: Ed25519PrivateKey
    ) throws(CryptographyError) -> String {
        guard !header.isEmpty, header.count <= limit, payload.count <= limit else {
            throw .malformed
        }
        let input = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        let token = input + "." + Base64URL.encode(try key.sign(Array(input.utf8)))
        guard token.utf8.count <= limit else { throw .malformed }
        return token
    }

    /// The parts of a token.
    ///
    /// Throws `malformed` for a token over 16 KiB, or unless there are exactly three parts, all
    /// strict base64url without padding. The header must not be empty. Source: RFC 7515 §5.2.
    package static func parse(_ compact: String) throws(CryptographyError) -> Parts {
        guard compact.utf8.count <= limit else { throw .malformed }
        let texts = compact.utf8.split(
            separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard texts.count == 3 else { throw .malformed }
        let parts = texts.compactMap { Base64URL.decode(Substring($0)) }
        guard parts.count == 3, !parts[0].isEmpty else { throw .malformed }
        let input = compact.utf8.prefix(upTo: texts[1].endIndex)
        return Parts(
            header: parts[0], payload: parts[1], signature: parts[2], signingInput: Array(input))
    }
}
