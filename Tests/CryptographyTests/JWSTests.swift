import Sessions
import Testing

import Cryptography

@Suite("JWS")
struct JWSTests {
    private static let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    private static let d = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
    private static let input = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    private static let token =
        input + ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr"
        + "_MuM0KAg"

    private func key() throws -> Ed25519PrivateKey {
        let seed = try #require(Base64URL.decode(Self.d))
        return try Ed25519PrivateKey(rawRepresentation: SecretBytes(seed))
    }

    @Test("computes the public key of RFC 8037 A.1 and A.2 and the thumbprint of A.3")
    func keys() throws {
        let raw = try key().publicKey.rawRepresentation
        #expect(Base64URL.encode(raw) == Self.x)
        let jwk = #"{"crv":"Ed25519","kty":"OKP","x":"\#(Base64URL.encode(raw))"}"#
        let thumbprint = Base64URL.encode(try SHA256.digest(Array(jwk.utf8)))
        #expect(thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test("signs as RFC 8037 A.4 does")
    func signing() throws {
        let token = try JWS.sign(
            header: Array(#"{"alg":"EdDSA"}"#.utf8),
            payload: Array("Example of Ed25519 signing".utf8), with: key())
        #expect(token == Self.token)
    }

    @Test("verifies as RFC 8037 A.5 does")
    func verifying() throws {
        let parts = try JWS.parse(Self.token)
        #expect(parts.header == Array(#"{"alg":"EdDSA"}"#.utf8))
        #expect(parts.payload == Array("Example of Ed25519 signing".utf8))
        #expect(parts.signingInput == Array(Self.input.utf8))
        #expect(try parts.isSigned(by: key().publicKey))
        #expect(try !parts.isSigned(by: Ed25519PrivateKey().publicKey))
    }

    @Test("lets no token name its algorithm", arguments: ["none", "HS256", "RS256", "EdDSA"])
    func algorithms(name: String) throws {
        let header = Base64URL.encode(Array(#"{"alg":"\#(name)"}"#.utf8))
        let unsigned = try JWS.parse("\(header).e30.")
        #expect(try !unsigned.isSigned(by: key().publicKey))
        // A code made with the public key as if it were a secret, the classic confusion.
        let code = try HMACSHA256.authenticate(
            Array("\(header).e30".utf8), key: SecretBytes(key().publicKey.rawRepresentation))
        let confused = try JWS.parse("\(header).e30.\(Base64URL.encode(code))")
        #expect(try !confused.isSigned(by: key().publicKey))
    }

    @Test(
        "refuses what is not three strict parts",
        arguments: [
            "", ".", "..", "...", "a", "e30", "e30.e30", "e30.e30.e30.e30", ".e30.e30",
            "e30=.e30.e30", "e30.e3+.e30", "e30.e3/.e30", "e30.e.e30", "e31.e30.e30 ",
            "e30.e30.\u{301}e30", "e30\n.e30.e30", "e30.e30.e31",
        ])
    func malformed(token: String) {
        #expect(failure { try JWS.parse(token) } == .malformed)
        #expect(failure { try JWS.parse(token + "\0") } == .malformed)
    }

    @Test("refuses any other character in place of any of a token's")
    func changed() throws {
        let publicKey = try key().publicKey
        let token = Array(Self.token.utf8)
        for index in token.indices {
            for other in [UInt8(ascii: "A"), UInt8(ascii: "-"), UInt8(ascii: "."), 0xFF]
            where token[index] != other {
                var changed = token
                changed[index] = other
                let parts = try? JWS.parse(String(decoding: changed, as: UTF8.self))
                #expect(parts?.isSigned(by: publicKey) != true, "character \(index)")
            }
        }
    }

    @Test("bounds a token at 16 KiB")
    func bounds() throws {
        let key = try key()
        let payload = [UInt8](repeating: 0x20, count: 12_000)
        let token = try JWS.sign(header: [1], payload: payload, with: key)
        #expect(try JWS.parse(token).payload == payload)
        #expect(failure { try JWS.parse(token + String(repeating: "A", count: 400)) } == .malformed)
        let long = [UInt8](repeating: 0x20, count: 12_300)
        #expect(failure { try JWS.sign(header: [1], payload: long, with: key) } == .malformed)
        #expect(failure { try JWS.sign(header: [], payload: [], with: key) } == .malformed)
    }
}
