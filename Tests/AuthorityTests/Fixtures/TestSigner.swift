import Foundation
import Sessions
import Wire

/// A fresh key of a kind that we never sign with ourselves, used with the `openssl` command.
struct TestSigner {
    enum Kind: String, Sendable, CaseIterable {
        case rs256 = "RS256"
        case ps256 = "PS256"
        case es256 = "ES256"
    }

    private let kind: Kind
    private let folder: TemporaryFolder

    init(_ kind: Kind) throws {
        self.kind = kind
        folder = try TemporaryFolder()
        _ = try run(kind == .es256
            ? "ecparam -name prime256v1 -genkey -noout -out key.pem" : "genrsa -out key.pem 2048")
    }

    func jwk(_ name: String) throws -> JSONValue {
        var members: [String: String] = ["kid": name, "alg": kind.rawValue, "use": "sig"]
        if kind == .es256 {
            let point = try run("ec -in key.pem -pubout -outform DER").suffix(64)
            members["kty"] = "EC"
            members["crv"] = "P-256"
            members["x"] = Base64URL.encode(point.prefix(32))
            members["y"] = Base64URL.encode(point.suffix(32))
        } else {
            members["kty"] = "RSA"
            members["n"] = Base64URL.encode(try modulus())
            members["e"] = "AQAB"
        }
        return .object(members.mapValues(JSONValue.string))
    }

    func sign(
        _ claims: [String: JSONValue], algorithm: String, kid: String
    ) throws -> String {
        let header = JSONValue.object(["alg": .string(algorithm), "kid": .string(kid)])
        let input = Base64URL.encode(header.bytes) + "."
            + Base64URL.encode(JSONValue.object(claims).bytes)
        try Data(input.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/input"))
        let padding = kind == .ps256
            ? " -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32" : ""
        let made = try run("dgst -sha256 -sign key.pem\(padding) input")
        return "\(input).\(Base64URL.encode(kind == .es256 ? try Self.halves(made) : made))"
    }

    private func modulus() throws -> [UInt8] {
        let text = String(decoding: try run("rsa -in key.pem -noout -modulus"), as: UTF8.self)
        let digits = text.drop { $0 != "=" }.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }

    /// R and S of a DER signature, 32 bytes each. Source: RFC 3279 §2.2.3; RFC 7518 §3.4.
    private static func halves(_ der: [UInt8]) throws -> [UInt8] {
        guard der.count > 8, der[0] == 0x30, der[2] == 0x02 else { throw NotThat() }
        let end = 4 + Int(der[3])
        guard der.count > end + 2 else { throw NotThat() }
        return [der[4..<end], der[(end + 2)...]].flatMap { number in
            let digits = number.drop { $0 == 0 }
            return [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
    }

    /// The same token with S replaced by the group's order less S, which verifies as well.
    static func twin(of token: String) throws -> String {
        guard let dot = token.lastIndex(of: "."),
            let signature = Base64URL.decode(token[token.index(after: dot)...]),
            let order = Base64URL.decode("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE")
        else { throw NotThat() }
        var other: [UInt8] = []
        var borrow = 0
        for (all, part) in zip(order, signature.suffix(32)).reversed() {
            let difference = Int(all) - Int(part) - borrow
            borrow = difference < 0 ? 1 : 0
            other.insert(UInt8(difference & 0xFF), at: 0)
        }
        return token[...dot] + Base64URL.encode(signature.prefix(32) + other)
    }

    private func run(_ command: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = command.split(separator: " ").map(String.init)
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw NotThat() }
        return Array(data)
    }
}
