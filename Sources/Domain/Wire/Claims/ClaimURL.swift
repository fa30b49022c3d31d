package import Sessions

/// The data that a board shows to be claimed: its id, its key, and a one-time secret.
///
/// `<base>#v=1&i=<iid>&k=<b64 key>&c=<b64 secret>&n=<percent-encoded name>`. All secret parts are
/// behind `#`, because browsers never send that part to a server.
///
/// Source: the wire contract, Identities and claims.
package struct ClaimURL: Sendable {
    package static let defaultBase = "postern://claim"
    private static let limit = 4096
    private static let nameLimit = 64

    /// The page that a phone opens, without the fragment.
    package let base: String
    package let installation: InstallationID
    /// The board's raw X25519 public key, 32 bytes.
    package let deviceKey: [UInt8]
    /// 32 bytes, known only to the board and to people who see the code.
    package let secret: SecretBytes
    /// For people; at most 64 characters, without control characters.
    package let name: String

    package init(
        base: String, installation: InstallationID, deviceKey: [UInt8], secret: SecretBytes,
        name: String
    ) {
        self.base = base
        self.installation = installation
        self.deviceKey = deviceKey
        self.secret = secret
        self.name = Self.shown(name)
    }

    /// Parses a claim URL. The error names the mistake but repeats no value of the URL.
    package init(_ text: String) throws(WireError) {
        guard text.utf8.count <= Self.limit else { throw .tooLarge(limit: Self.limit) }
        let halves = text.split(separator: "#", omittingEmptySubsequences: false)
        guard halves.count == 2, !halves[0].isEmpty else { throw .missing("#") }
        let fields = try Self.fields(of: halves[1])
        guard let version = fields["v"] else { throw .missing("v") }
        guard version == "1" else { throw .mistyped("v") }
        guard let id = fields["i"] else { throw .missing("i") }
        guard let installation = InstallationID(id) else { throw .mistyped("i") }
        guard let name = PercentEncoding.decode(fields["n"] ?? ""), name == Self.shown(name)
        else { throw .mistyped("n") }
        self.base = String(halves[0])
        self.installation = installation
        self.deviceKey = try Self.key(fields["k"], "k")
        self.secret = SecretBytes(try Self.key(fields["c"], "c"))
        self.name = name
    }

    /// What is wrong with a claim URL, in words for the person who scanned or copied it.
    package static func words(for error: WireError) -> String {
        let again = "scan the code again, or copy the whole URL"
        return switch error {
        case .tooLarge(let limit): "this is no claim URL: it has more than \(limit) bytes; \(again)"
        case .missing("#"), .notJSON:
            "this is no claim URL: it has no # with a board's code after it; \(again)"
        case .mistyped("v"):
            "the code has an unknown version (v); update Postern, or \(again)"
        case .missing(let member):
            "the code is not complete: \(part(member)) is missing; \(again)"
        case .mistyped(let member):
            "the code is damaged or not complete: \(part(member)) is malformed; \(again)"
        }
    }

    private static func part(_ member: String) -> String {
        switch member {
        case "v": "its version (v)"
        case "i": "the board's id (i)"
        case "k": "the board's key (k)"
        case "c": "the one-time secret (c)"
        case "n": "the board's name (n)"
        default: "a part of it"
        }
    }

    /// The URL with its secret. Show it only to the person at the board.
    package func reveal() -> String {
        "\(base)#v=1&i=\(installation)&k=\(Base64URL.encode(deviceKey))"
            + "&c=\(Base64URL.encode(secret.reveal()))&n=\(PercentEncoding.encode(name))"
    }

    private static func fields(of text: Substring) throws(WireError) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in text.split(separator: "&", omittingEmptySubsequences: false) {
            guard let sign = pair.firstIndex(of: "=") else { throw .mistyped("#") }
            let name = String(pair[..<sign])
            guard fields.updateValue(String(pair[pair.index(after: sign)...]), forKey: name) == nil
            else { throw .mistyped(String(name.prefix(1))) }
        }
        return fields
    }

    private static func key(_ text: String?, _ member: String) throws(WireError) -> [UInt8] {
        guard let text else { throw .missing(member) }
        guard let bytes = Base64URL.decode(text), bytes.count == 32 else {
            throw .mistyped(member)
        }
        return bytes
    }

    /// A board's name, safe to show anywhere: limited in length, and no character that moves a
    /// cursor.
    package static func shown(_ name: String) -> String {
        let visible = name.unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate,
                .privateUse, .unassigned: false
            default: true
            }
        }
        return String(String(String.UnicodeScalarView(visible)).prefix(nameLimit))
    }
}

/// Percent-encoding of one component. Source: RFC 3986 §2.1 and §2.3.
package enum PercentEncoding {
    package static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in text.utf8 {
            if byte.isUnreserved {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Nil for a broken escape or bytes that are not UTF-8.
    package static func decode(_ text: String) -> String? {
        var result: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(hexValue), let low = rest.next().flatMap(hexValue)
            else { return nil }
            result.append(high << 4 | low)
        }
        return String(validating: result, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
