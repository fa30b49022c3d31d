import Foundation
import Sessions
import Testing

@testable import Cryptography

@Suite("Web Push")
struct PushEncryptionTests {
    // RFC 8291 §5 and Appendix A.
    private static let browserPoint =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let browserSecret = "BTBZMqHH6r4Tts7J_aSIgg"
    private static let ownPoint =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
    private static let ownKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
    private static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
    private static let sealed = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
        + "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZ"
        + "wbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"

    @Test("encrypts as the example of RFC 8291 does")
    func example() throws {
        let browser = try PushKeys(
            point: Self.bytes(Self.browserPoint),
            secret: SecretBytes(Self.bytes(Self.browserSecret)))
        let own = try Self.key(Self.bytes(Self.ownKey))
        #expect(own.publicPoint == (try Self.bytes(Self.ownPoint)))
        let sealed = try PushEncryption.seal(
            Array("When I grow up, I want to be a watermelon".utf8), to: browser, from: own,
            salt: Self.bytes(Self.salt))
        #expect(Base64URL.encode(sealed) == Self.sealed)
    }

    @Test("uses a new key and salt for each message, and none that is too long")
    func fresh() throws {
        let browser = try PushKeys(
            point: Self.bytes(Self.browserPoint),
            secret: SecretBytes(Self.bytes(Self.browserSecret)))
        let first = try PushEncryption.seal([1], to: browser)
        let second = try PushEncryption.seal([1], to: browser)
        #expect(first.prefix(16) != second.prefix(16))
        #expect(first[21..<86] != second[21..<86])
        let longest = [UInt8](repeating: 0, count: PushEncryption.limit)
        #expect(try PushEncryption.seal(longest, to: browser).count == 4096)
        #expect(throws: CryptographyError.malformed) {
            try PushEncryption.seal(longest + [0], to: browser)
        }
    }

    @Test("refuses keys that are no keys")
    func malformed() throws {
        let secret = SecretBytes([UInt8](repeating: 1, count: 16))
        let point = try Self.bytes(Self.browserPoint)
        let bad: [[UInt8]] = [
            [], [4], Array(point.dropLast()), point + [0], [2] + point.dropFirst(),
            [4] + [UInt8](repeating: 0, count: 64), [4] + [UInt8](repeating: 255, count: 64),
        ]
        for point in bad {
            #expect(throws: CryptographyError.malformed) {
                _ = try PushKeys(point: point, secret: secret)
            }
        }
        for count in [0, 15, 17] {
            #expect(throws: CryptographyError.malformed) {
                _ = try PushKeys(
                    point: point, secret: SecretBytes([UInt8](repeating: 1, count: count)))
            }
        }
    }

    @Test("signs what its public key verifies, and reads its own key again")
    func signature() throws {
        let key = try P256PrivateKey()
        let again = try P256PrivateKey(pem: key.pem())
        #expect(again.publicPoint == key.publicPoint)
        let known = try P256PublicKey(point: key.publicPoint)
        for number in UInt8(0)..<200 {
            let signature = try again.sign([number])
            #expect(signature.count == 64 && known.verify(signature, of: [number]))
        }
        #expect(try !known.verify(key.sign([1]), of: [2]))
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64URL.decode(text))
    }

    /// SEC 1 in PEM. Source: RFC 5915 §3 and §4.
    private static func key(_ secret: [UInt8]) throws -> P256PrivateKey {
        let curve: [UInt8] = [
            0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
        ]
        let der: [UInt8] = [0x30, 49, 0x02, 0x01, 0x01, 0x04, 32] + secret + curve
        let text = Data(der).base64EncodedString()
        let pem = "-----BEGIN EC PRIVATE KEY-----\n\(text.prefix(64))\n\(text.dropFirst(64))\n"
            + "-----END EC PRIVATE KEY-----\n"
        return try P256PrivateKey(pem: SecretBytes(Array(pem.utf8)))
    }
}
