/// The SHA-256 of a certificate's DER form, by which people recognise a certificate. The text is
/// `SHA256:` and 32 bytes in hexadecimal, separated by colons, as browsers and `openssl x509
/// -fingerprint -sha256` show it.
///
/// Parsing accepts upper and lower case, with or without `SHA256:`, with all colons or none.
/// Printing always uses the form above.
package struct CertificateFingerprint: Hashable, Sendable {
    /// Length in bytes.
    package static let count = 32
    private static let prefix = "SHA256:"

    package let bytes: [UInt8]

    /// Nil unless `bytes` has 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        self.bytes = bytes
    }

    /// Nil for any text that has none of the forms above.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.prefix.utf8.count + 3 * Self.count else { return nil }
        let hasPrefix = text.uppercased().hasPrefix(Self.prefix)
        let rest = hasPrefix ? text.dropFirst(Self.prefix.count) : text[...]
        let pairs = rest.contains(":")
            ? rest.split(separator: ":", omittingEmptySubsequences: false) : Self.pairs(of: rest)
        guard pairs.count == Self.count else { return nil }
        var bytes: [UInt8] = []
        for pair in pairs {
            guard pair.utf8.count == 2, pair.utf8.allSatisfy(Self.isHexadecimal),
                let byte = UInt8(pair, radix: 16)
            else { return nil }
            bytes.append(byte)
        }
        self.bytes = bytes
    }

    private static func pairs(of text: Substring) -> [Substring] {
        var (pairs, rest): ([Substring], Substring) = ([], text)
        while !rest.isEmpty {
            pairs.append(rest.prefix(2))
            rest = rest.dropFirst(2)
        }
        return pairs
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF)
    }
}

extension CertificateFingerprint: CustomStringConvertible {
    package var description: String {
        let pairs = bytes.map { byte in
            (byte < 0x10 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return Self.prefix + pairs.joined(separator: ":")
    }
}
