import Sessions
import Testing

import Cryptography

@Suite("Ed25519")
struct Ed25519Tests {
    struct Group: Decodable {
        struct Key: Decodable {
            let pk: Hex
        }

        struct Case: Decodable {
            let tcId: Int
            let msg: Hex
            let sig: Hex
            let result: String
        }

        let publicKey: Key
        let tests: [Case]
    }

    /// A vector of the Community Cryptography Test Vectors: edge cases that verifiers judge
    /// differently, each with the flags that say why.
    struct Edge: Decodable {
        let number: Int
        let key: Hex
        let sig: Hex
        let msg: String
        let flags: [String]?
    }

    @Test("agrees with Wycheproof")
    func vectors() throws {
        guard let file = try Vectors.load("ed25519_test.json", as: Wycheproof<Group>.self) else {
            return
        }
        for group in file.testGroups {
            let key = try Ed25519PublicKey(rawRepresentation: group.publicKey.pk.bytes)
            for test in group.tests {
                let verified = key.verify(test.sig.bytes, of: test.msg.bytes)
                #expect(verified == (test.result == "valid"), "case \(test.tcId)")
            }
        }
    }

    /// What is decided here: the equation without cofactor over R as it stands (so no residue
    /// of small order and no second encoding of R), and no public key of small order.
    @Test("judges the edge cases by one rule")
    func edges() throws {
        guard let edges = try Vectors.load("cctv-ed25519.json", as: [Edge].self) else { return }
        let refusals: Set = ["low_order_A", "low_order_residue", "non_canonical_R"]
        for edge in edges {
            let flags = Set(edge.flags ?? [])
            let key = try? Ed25519PublicKey(rawRepresentation: edge.key.bytes)
            #expect((key == nil) == flags.contains("low_order_A"), "key of vector \(edge.number)")
            let verified = key?.verify(edge.sig.bytes, of: Array(edge.msg.utf8)) ?? false
            #expect(verified == flags.isDisjoint(with: refusals), "vector \(edge.number)")
        }
    }

    @Test("verifies what it signed and nothing else")
    func roundTrip() throws {
        let key = try Ed25519PrivateKey()
        let kept = try Ed25519PrivateKey(rawRepresentation: key.rawRepresentation)
        let message = Array("a message".utf8)
        let signature = try key.sign(message)
        #expect(try kept.sign(message) == signature)
        #expect(kept.publicKey == key.publicKey)
        #expect(key.publicKey.verify(signature, of: message))
        #expect(try key.publicKey.verify(key.sign([]), of: []))
        #expect(try !Ed25519PrivateKey().publicKey.verify(signature, of: message))
        #expect(!key.publicKey.verify(signature, of: message + [0]))
        for bit in 0..<signature.count * 8 {
            #expect(!key.publicKey.verify(flipped(signature, bit: bit), of: message), "bit \(bit)")
        }
        for count in 0..<signature.count {
            #expect(!key.publicKey.verify(Array(signature.prefix(count)), of: message))
        }
        #expect(!key.publicKey.verify(signature + [0], of: message))
    }

    @Test("refuses keys that have not 32 bytes", arguments: [0, 1, 31, 33, 64])
    func lengths(count: Int) {
        let bytes = [UInt8](repeating: 9, count: count)
        #expect(failure { try Ed25519PublicKey(rawRepresentation: bytes) } == .malformed)
        #expect(
            failure { try Ed25519PrivateKey(rawRepresentation: SecretBytes(bytes)) } == .malformed)
    }
}
