import Sessions
import Testing

import Cryptography

@Suite("X25519")
struct X25519Tests {
    struct Group: Decodable {
        struct Case: Decodable {
            let tcId: Int
            let `public`: Hex
            let `private`: Hex
            let shared: Hex
        }

        let tests: [Case]
    }

    @Test("agrees with Wycheproof and refuses every key that agrees on zero")
    func vectors() throws {
        guard let file = try Vectors.load("x25519_test.json", as: Wycheproof<Group>.self) else {
            return
        }
        let zero = [UInt8](repeating: 0, count: 32)
        var refused = 0
        for test in file.testGroups.flatMap(\.tests) {
            let key = try X25519PrivateKey(rawRepresentation: SecretBytes(test.private.bytes))
            let agree = {
                let peer = try X25519PublicKey(rawRepresentation: test.public.bytes)
                return try key.sharedSecret(with: peer)
            }
            if test.shared.bytes == zero {
                refused += 1
                #expect(failure(agree) == .malformed, "case \(test.tcId)")
            } else {
                #expect(try agree().reveal() == test.shared.bytes, "case \(test.tcId)")
            }
        }
        #expect(refused == 31)
    }

    @Test("agrees with its peer and keeps its key")
    func agreement() throws {
        let (one, other) = (try X25519PrivateKey(), try X25519PrivateKey())
        let secret = try one.sharedSecret(with: other.publicKey)
        let kept = try X25519PrivateKey(rawRepresentation: other.rawRepresentation)
        #expect(kept.publicKey == other.publicKey)
        #expect(try secret.matches(kept.sharedSecret(with: one.publicKey)))
    }

    @Test("names a key by its digest's first 8 bytes")
    func keyID() throws {
        let key: Hex = "504a36999f489cd2fdbc08baff3d88fa00569ba986cba22548ffde80f9806829"
        let publicKey = try X25519PublicKey(rawRepresentation: key.bytes)
        let digest = try SHA256.digest(key.bytes)
        #expect(publicKey.keyID.description == Base64URL.encode(digest.prefix(8)))
        #expect(publicKey.keyID.description.utf8.count == 11)
    }

    @Test("refuses keys that have not 32 bytes", arguments: [0, 1, 31, 33, 64])
    func lengths(count: Int) {
        let bytes = [UInt8](repeating: 9, count: count)
        #expect(failure { try X25519PublicKey(rawRepresentation: bytes) } == .malformed)
        #expect(
            failure { try X25519PrivateKey(rawRepresentation: SecretBytes(bytes)) } == .malformed)
    }
}
