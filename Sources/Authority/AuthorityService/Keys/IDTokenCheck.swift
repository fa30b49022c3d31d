import AuthorityCore
import ConfigurationFiles
import Cryptography
import Logging
import Sessions

/// Verifies id tokens with the key sets that the configuration names.
struct IDTokenCheck: IDTokenSignatures {
    private let caches: [LoginProvider: KeySetCache]

    init(_ places: [LoginProvider: AuthoritySettings.KeySetPlace], logger: Logger) {
        caches = Dictionary(uniqueKeysWithValues: places.map { name, place in
            (name, KeySetCache(reading: place, of: name, logger: logger))
        })
    }

    /// Returns the payload of a token with a valid signature. A malformed token causes no fetch of
    /// keys.
    ///
    /// Source: OpenID Connect Core §3.1.3.7, 6 to 8; RFC 7515 §5.2; RFC 8725 §3.1.
    func payload(
        of token: IDToken, from provider: LoginProvider
    ) async throws(AuthorityError) -> Result<[UInt8], IDTokenFault> {
        guard let cache = caches[provider] else { return .failure(.unknownKey) }
        let parts: JWS.Parts
        let header: IDTokenHeader
        do throws(CryptographyError) {
            parts = try JWS.parse(token.reveal())
        } catch {
            return .failure(.malformed)
        }
        do throws(IDTokenFault) {
            header = try IDTokenHeader(parsing: parts.header)
        } catch {
            return .failure(error)
        }
        let keys: IdentityKeySet
        do throws(KeySetFailure) {
            keys = try await cache.keys(for: header)
        } catch {
            throw .failed(layer: "keys of \(provider)", text: error.words)
        }
        return Result { () throws(IDTokenFault) in
            guard parts.isSigned(by: try SignatureKey(keys.key(for: header))) else {
                throw .forged
            }
            return parts.payload
        }
    }
}

extension SignatureKey {
    /// Throws `unknownKey` if the provider's key is invalid, as if it had published none by that
    /// name.
    init(_ key: IdentityKey) throws(IDTokenFault) {
        do throws(CryptographyError) {
            switch key {
            case .rsa(let modulus, let exponent, let isPSS):
                self = .rsa(try RSAPublicKey(
                    modulus: modulus, exponent: exponent, padding: isPSS ? .pss : .pkcs1))
            case .p256(let x, let y): self = .p256(try P256PublicKey(x: x, y: y))
            case .ed25519(let raw):
                self = .ed25519(try Ed25519PublicKey(rawRepresentation: raw))
            }
        } catch {
            throw .unknownKey
        }
    }
}
