import AuthorityCore
import Cryptography
import WebAuthn

/// The signatures of passkeys.
extension SystemCryptography {
    func isUsable(_ key: PasskeyKey) -> Bool { SignatureKey(key) != nil }

    /// ES256 is in DER here, unlike in a JWS. Source: WebAuthn Level 2 §6.5.6.
    func verify(_ signature: [UInt8], of message: [UInt8], by key: PasskeyKey) -> Bool {
        switch SignatureKey(key) {
        case nil: false
        case .p256(let key)?: key.verify(der: signature, of: message)
        case let key?: key.verify(signature, of: message)
        }
    }
}

extension SignatureKey {
    /// Nil if the values are no usable key.
    fileprivate init?(_ key: PasskeyKey) {
        do throws(CryptographyError) {
            switch key {
            case .p256(let x, let y): self = .p256(try P256PublicKey(x: x, y: y))
            case .ed25519(let bytes):
                self = .ed25519(try Ed25519PublicKey(rawRepresentation: bytes))
            case .rsa(let modulus, let exponent):
                self = .rsa(try RSAPublicKey(
                    modulus: modulus, exponent: exponent, padding: .pkcs1))
            }
        } catch {
            return nil
        }
    }
}
