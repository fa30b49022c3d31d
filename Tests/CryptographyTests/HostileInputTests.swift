import Sessions
import Testing

@testable import Cryptography

@Suite("Hostile input")
struct HostileInputTests {
    @Test("never traps in anything that opens, parses or verifies", arguments: 1...8)
    func randomBytes(seed: UInt64) throws {
        var random = FixedRandom(state: seed)
        let key = try X25519PrivateKey()
        let psk = HPKE.PreSharedKey(key: SecretBytes([UInt8](repeating: 1, count: 32)), id: [1])
        let signer = try Ed25519PrivateKey().publicKey
        var cipher = try RecordCipher(key: SecretBytes([UInt8](repeating: 1, count: 32)))
        for _ in 0..<500 {
            let (one, two, three) = (
                random.bytes(0...80), random.bytes(0...80), random.bytes(30...34)
            )
            let sealed = HPKE.Sealed(enc: three, ct: one)
            let opens: [() throws -> Any] = [
                { try HPKE.openPSK(sealed, with: key, info: two, aad: one, psk: psk) },
                { try HPKE.openAuth(sealed, with: key, from: key.publicKey, info: two, aad: one) },
                { try AES256GCM.open(one, key: SecretBytes(three), nonce: two, aad: two) },
                { try key.sharedSecret(with: X25519PublicKey(rawRepresentation: three)) },
            ]
            for open in opens {
                if case .openSSL(let name) = failure(open) { Issue.record("\(name) failed") }
            }
            var text: [UInt8] = []
            let nonce = three.prefix(12) + []
            #expect(throws: CryptographyError.self) {
                try cipher.open(one.span, nonce: nonce.span, aad: two.span, into: &text)
            }
            #expect(!signer.verify(one, of: two))
            let stranger = try? Ed25519PublicKey(rawRepresentation: three)
            #expect(stranger?.verify(two.prefix(32) + three + one.prefix(32), of: one) != true)
        }
    }

    @Test("never traps on text that is no token and no hash", arguments: 1...4)
    func randomText(seed: UInt64) throws {
        var random = FixedRandom(state: seed)
        let alphabet = Array(".$=,e3A0-_+/ln15rp\u{0}\u{301}\u{FF}".utf8)
        for _ in 0..<2000 {
            let bytes = random.bytes(0...60).map { alphabet[Int($0) % alphabet.count] }
            let text = String(decoding: bytes, as: UTF8.self)
            _ = try? JWS.parse(text)
            #expect(PasswordHash(phc: text) == nil)
            #expect(PasswordHash(phc: "$scrypt$" + text) == nil)
            _ = Base64.decode(text)
        }
    }
}
