import Sessions
import Testing

@testable import Cryptography

@Suite("Digests and derivation")
struct DerivationTests {
    struct HKDFGroup: Decodable {
        struct Case: Decodable {
            let tcId: Int
            let ikm: Hex
            let salt: Hex
            let info: Hex
            let size: Int
            let okm: Hex
            let result: String
        }

        let tests: [Case]
    }

    struct MACGroup: Decodable {
        struct Case: Decodable {
            let tcId: Int
            let key: Hex
            let msg: Hex
            let tag: Hex
            let result: String
        }

        let tagSize: Int
        let tests: [Case]
    }

    @Test("SHA-256 agrees with FIPS 180-4's examples")
    func sha256() throws {
        let empty: Hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        let abc: Hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(try SHA256.digest([]) == empty.bytes)
        #expect(try SHA256.digest(Array("abc".utf8)) == abc.bytes)
    }

    @Test("HKDF agrees with RFC 5869 A.1 to A.3")
    func rfc5869() throws {
        let one = try HKDFSHA256.derive(
            from: SecretBytes([UInt8](repeating: 0x0B, count: 22)), salt: Array(0...12),
            info: Array(0xF0...0xF9), count: 42)
        let okm1: Hex =
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        #expect(one.reveal() == okm1.bytes)
        let two = try HKDFSHA256.derive(
            from: SecretBytes(Array(0...0x4F)), salt: Array(0x60...0xAF),
            info: Array(0xB0...0xFF), count: 82)
        let okm2: Hex = """
            b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb\
            41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
            """
        #expect(two.reveal() == okm2.bytes)
        let key = SecretBytes([UInt8](repeating: 0x0B, count: 22))
        let prk = try HKDFSHA256.extract(from: [key], salt: SecretBytes([]))
        let prk3: Hex = "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04"
        #expect(prk.reveal() == prk3.bytes)
        let okm3: Hex =
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        #expect(try HKDFSHA256.expand(from: prk, info: [], count: 42).reveal() == okm3.bytes)
        #expect(
            try HKDFSHA256.derive(from: key, salt: [], info: [], count: 42).reveal() == okm3.bytes)
    }

    @Test("HKDF agrees with Wycheproof")
    func hkdf() throws {
        let name = "hkdf_sha256_test.json"
        guard let file = try Vectors.load(name, as: Wycheproof<HKDFGroup>.self) else { return }
        for test in file.testGroups.flatMap(\.tests) {
            let derive = {
                try HKDFSHA256.derive(
                    from: SecretBytes(test.ikm.bytes), salt: test.salt.bytes,
                    info: test.info.bytes, count: test.size)
            }
            if test.result == "valid" {
                #expect(try derive().reveal() == test.okm.bytes, "case \(test.tcId)")
            } else {
                #expect(failure(derive) == .malformed, "case \(test.tcId)")
            }
        }
    }

    @Test("HKDF refuses an empty key, no output, and more info than its bound")
    func hkdfBounds() throws {
        let key = SecretBytes([1])
        let most = [UInt8](repeating: 0, count: HKDFSHA256.infoLimit)
        #expect(try HKDFSHA256.derive(from: key, salt: [], info: most, count: 1).count == 1)
        for (key, info, count) in [
            (SecretBytes([]), 0, 32), (key, 0, 0), (key, 0, -1), (key, 1025, 32), (key, 0, 8161),
        ] {
            let error = failure {
                try HKDFSHA256.derive(
                    from: key, salt: [], info: [UInt8](repeating: 0, count: info), count: count)
            }
            #expect(error == .malformed)
        }
    }

    @Test("HMAC agrees with RFC 4231 and Wycheproof")
    func hmac() throws {
        let known: Hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        let message = Array("what do ya want for nothing?".utf8)
        let key = SecretBytes(Array("Jefe".utf8))
        #expect(try HMACSHA256.authenticate(message, key: key) == known.bytes)
        let keyless = failure { try HMACSHA256.authenticate(message, key: SecretBytes([])) }
        #expect(keyless == .malformed)
        let name = "hmac_sha256_test.json"
        guard let file = try Vectors.load(name, as: Wycheproof<MACGroup>.self) else { return }
        for group in file.testGroups {
            for test in group.tests {
                let code = try HMACSHA256.authenticate(
                    test.msg.bytes, key: SecretBytes(test.key.bytes))
                let matches = constantTimeEquals(code.prefix(group.tagSize / 8), test.tag.bytes)
                #expect(matches == (test.result == "valid"), "case \(test.tcId)")
            }
        }
    }

    @Test("compares bytes by content and length")
    func comparison() {
        #expect(constantTimeEquals([1, 2, 3] as [UInt8], [0, 1, 2, 3][1...]))
        #expect(!constantTimeEquals([1, 2, 3] as [UInt8], [1, 2, 4] as [UInt8]))
        #expect(!constantTimeEquals([1, 2, 3] as [UInt8], [1, 2] as [UInt8]))
        #expect(constantTimeEquals([] as [UInt8], [] as [UInt8]))
    }

    @Test("random bytes have the length asked for and differ")
    func random() throws {
        #expect(try RandomBytes.make(0).isEmpty)
        #expect(try RandomBytes.make(32) != RandomBytes.make(32))
        #expect(try RandomBytes.secret(33).count == 33)
        #expect(try !RandomBytes.secret(32).matches(RandomBytes.secret(32)))
        #expect(failure { try RandomBytes.make(-1) } == .malformed)
        #expect(failure { try RandomBytes.secret(1 << 30) } == .malformed)
    }
}
