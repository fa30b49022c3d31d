import Foundation
import Sessions
import Testing

import Cryptography

@Suite("Signature key")
struct SignatureKeyTests {
    // RFC 7515, appendices A.2 and A.3.
    private static let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEz"
        + "P1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf6"
        + "3kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5Zw"
        + "Kh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRW"
        + "yuXpoQ"
    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290"
        + "Ijp0cnVlfQ"
    private static let rs256 = "eyJhbGciOiJSUzI1NiJ9." + payload
        + ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
        + "O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLI"
        + "ARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noO"
        + "PqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQG"
        + "e77Rw"
    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    private static let es256 = "eyJhbGciOiJFUzI1NiJ9." + payload
        + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1"
        + "Q"
    // RFC 8037, appendices A.2 and A.4.
    private static let ed25519 = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    private static let edDSA =
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
        + ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KA"
        + "g"

    private func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64URL.decode(text))
    }

    private func rsa(_ padding: RSAPublicKey.Padding = .pkcs1) throws -> SignatureKey {
        .rsa(try RSAPublicKey(
            modulus: bytes(Self.modulus), exponent: [1, 0, 1], padding: padding))
    }

    private func p256() throws -> SignatureKey {
        .p256(try P256PublicKey(x: bytes(Self.x), y: bytes(Self.y)))
    }

    private func edwards() throws -> SignatureKey {
        .ed25519(try Ed25519PublicKey(rawRepresentation: bytes(Self.ed25519)))
    }

    @Test("verifies as RFC 7515 A.2 and A.3 and RFC 8037 A.4 do, and nobody else's token")
    func published() throws {
        let keys = [try rsa(), try p256(), try edwards(), try rsa(.pss)]
        for (index, token) in [Self.rs256, Self.es256, Self.edDSA].enumerated() {
            let parts = try JWS.parse(token)
            for (other, key) in keys.enumerated() {
                #expect(parts.isSigned(by: key) == (index == other), "\(index) by \(other)")
            }
        }
    }

    @Test("refuses a token with any bit of payload or signature flipped", arguments: 0...2)
    func flipped(index: Int) throws {
        let key = [try rsa(), try p256(), try edwards()][index]
        let parts = try JWS.parse([Self.rs256, Self.es256, Self.edDSA][index])
        for bit in 0..<(parts.signature.count * 8) {
            var signature = parts.signature
            signature[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.verify(signature, of: parts.signingInput), "bit \(bit)")
        }
        for place in stride(from: 0, to: parts.signingInput.count, by: 7) {
            var input = parts.signingInput
            input[place] ^= 1
            #expect(!key.verify(parts.signature, of: input), "byte \(place)")
        }
        for wrong in [[], [0], Array(parts.signature.dropLast()), parts.signature + [0],
                      [0] + parts.signature, [UInt8](repeating: 0, count: parts.signature.count)] {
            #expect(!key.verify(wrong, of: parts.signingInput))
        }
    }

    @Test("lets no token name its algorithm: neither none, nor a code made with the public key")
    func confusion() throws {
        let keys = [try rsa(), try p256(), try edwards()]
        let publics = [try bytes(Self.modulus), [4] + (try bytes(Self.x) + bytes(Self.y)),
                       try bytes(Self.ed25519)]
        for name in ["none", "HS256", "RS256", "ES256", "EdDSA"] {
            let header = Base64URL.encode(Array(#"{"alg":"\#(name)"}"#.utf8))
            let input = "\(header).\(Self.payload)"
            for (key, secret) in zip(keys, publics) {
                #expect(try !JWS.parse(input + ".").isSigned(by: key))
                let code = try HMACSHA256.authenticate(
                    Array(input.utf8), key: SecretBytes(secret))
                #expect(try !JWS.parse("\(input).\(Base64URL.encode(code))").isSigned(by: key))
            }
        }
    }

    @Test("of RSA is refused when short, even, padded with zeros, or without an exponent")
    func weakRSA() throws {
        let modulus = try bytes(Self.modulus)
        let wrong: [([UInt8], [UInt8])] = [
            (Array(modulus.suffix(255)), [1, 0, 1]), (Array(modulus.suffix(128)), [1, 0, 1]),
            ([0x7F] + modulus.dropFirst(), [1, 0, 1]), ([0] + modulus, [1, 0, 1]),
            (modulus.dropLast() + [0], [1, 0, 1]), (modulus, []), (modulus, [1]),
            (modulus, [2]), (modulus, [0, 1, 0, 1]), (modulus, [1, 0, 0]),
            (modulus, [1, 0, 0, 0, 1]), ([], [1, 0, 1]),
            ([UInt8](repeating: 0xFF, count: 1025), [1, 0, 1]),
        ]
        for (modulus, exponent) in wrong {
            #expect(failure {
                _ = try RSAPublicKey(modulus: modulus, exponent: exponent, padding: .pkcs1)
            } == .malformed, "\(modulus.count) bytes, exponent \(exponent)")
        }
    }

    @Test("of P-256 is a point of that curve and no other")
    func wrongCurve() throws {
        let x = try bytes(Self.x)
        let y = try bytes(Self.y)
        var off = y
        off[31] ^= 1
        // The base point of secp256k1, which lies on that curve. Source: SEC 2 §2.4.1.
        let otherX: Hex = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
        let otherY: Hex = "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
        let zero = [UInt8](repeating: 0, count: 32)
        for (x, y) in [
            (x, off), (y, x), (otherX.bytes, otherY.bytes), (zero, zero),
            (x, Array(y.dropLast())), ([0] + x, y), ([], []),
            ([UInt8](repeating: 0xFF, count: 32), y),
        ] {
            #expect(failure { _ = try P256PublicKey(x: x, y: y) } == .malformed)
        }
    }

    @Test("of RSA verifies one padding: what openssl made with the other one is refused",
          arguments: [RSAPublicKey.Padding.pkcs1, .pss])
    func paddings(padding: RSAPublicKey.Padding) throws {
        let signer = try OpenSSLSigner()
        let key = try RSAPublicKey(
            modulus: signer.modulus(), exponent: [1, 0, 1], padding: padding)
        let message = Array("a message".utf8)
        #expect(key.verify(try signer.sign(message, pss: 32), of: message) == (padding == .pss))
        #expect(key.verify(try signer.sign(message, pss: nil), of: message) == (padding == .pkcs1))
        // A salt of another length than the hash's is none of PS256's. Source: RFC 7518 §3.5.
        #expect(!key.verify(try signer.sign(message, pss: 20), of: message))
    }
}

/// A fresh RSA key that signs with the `openssl` command.
private final class OpenSSLSigner {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "postern-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        _ = try run("genrsa -out key.pem 2048")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func modulus() throws -> [UInt8] {
        let text = try run("rsa -in key.pem -noout -modulus")
        let digits = try #require(text.split(separator: "=").last).filter(\.isHexDigit)
        return Hex(stringLiteral: String(digits)).bytes
    }

    func sign(_ message: [UInt8], pss salt: Int?) throws -> [UInt8] {
        try Data(message).write(to: folder.appending(path: "message"))
        let padding = salt.map {
            " -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:\($0)"
        } ?? ""
        _ = try run("dgst -sha256 -sign key.pem\(padding) -out signature message")
        return Array(try Data(contentsOf: folder.appending(path: "signature")))
    }

    private func run(_ command: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = command.split(separator: " ").map(String.init)
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return String(decoding: data ?? Data(), as: UTF8.self)
    }
}
