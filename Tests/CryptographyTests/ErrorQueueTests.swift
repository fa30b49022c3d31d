import COpenSSL
import Sessions
import Testing

@testable import Cryptography

@Suite("OpenSSL's error queue")
struct ErrorQueueTests {
    @Test("is empty after whatever failed, for TLS on this thread reads it too")
    func emptied() throws {
        ERR_clear_error()
        let key = try X25519PrivateKey()
        let signer = try Ed25519PrivateKey()
        let bytes = [UInt8](repeating: 9, count: 64)
        let steps: [() throws -> Void] = [
            {
                let nonce = Array(bytes.prefix(12))
                _ = try AES256GCM.open(bytes, key: RandomBytes.secret(32), nonce: nonce, aad: [])
            },
            { _ = signer.publicKey.verify(bytes, of: bytes) },
            { _ = signer.publicKey.verify([UInt8](repeating: 0xFF, count: 64), of: bytes) },
            {
                let sealed = HPKE.Sealed(enc: Array(bytes.prefix(32)), ct: bytes)
                _ = try HPKE.openAuth(sealed, with: key, from: key.publicKey, info: [], aad: [])
            },
            { _ = try X25519PublicKey(rawRepresentation: [UInt8](repeating: 0, count: 32)) },
            { _ = try HKDFSHA256.derive(from: SecretBytes([]), salt: [], info: [], count: 1) },
            { _ = try PasswordHash.make(SecretBytes([1])) },
            { _ = try MosquittoPassword.entry(for: SecretBytes([1])) },
            { _ = try HMACSHA256.authenticate(bytes, key: SecretBytes(bytes)) },
            { try OpenSSL.one("test", 0) },
        ]
        for (number, step) in steps.enumerated() {
            _ = failure(step)
            #expect(ERR_peek_error() == 0, "step \(number)")
        }
    }

    @Test("names the function that failed and nothing more")
    func conventions() throws {
        #expect(failure { try OpenSSL.one("f", 0) } == .openSSL("f"))
        #expect(failure { try OpenSSL.one("f", 2) } == .openSSL("f"))
        #expect(failure { try OpenSSL.one("f", 1) } == nil)
        #expect(failure { try OpenSSL.positive("f", 2) } == nil)
        #expect(failure { try OpenSSL.positive("f", 0) } == .openSSL("f"))
        #expect(failure { try OpenSSL.positive("f", -2) } == .openSSL("f"))
        #expect(try OpenSSL.verdict("f", 1))
        #expect(try !OpenSSL.verdict("f", 0))
        #expect(failure { try OpenSSL.verdict("f", -1) } == .openSSL("f"))
    }
}
