package import Sessions

/// The code that a program shows and a person types or compares: eight letters, 34 random bits.
///
/// There are no vowels, so no code is a word, and no letter looks like a digit.
/// Source: RFC 8628 §6.1.
package struct UserCode: Equatable, Sendable, CustomStringConvertible {
    /// Without the hyphen.
    let letters: [UInt8]

    private static let count = 8
    private static let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ".utf8)
    /// The largest multiple of the alphabet's length in a byte. Bytes from here on are skipped,
    /// so that each letter is equally likely.
    private static let fairBytes = 240
    static let randomCount = 32

    /// Nil if too few of the bytes can be used, which random bytes never are.
    init?(random: [UInt8]) {
        letters = random.filter { $0 < Self.fairBytes }.prefix(Self.count).map { byte in
            Self.alphabet[Int(byte) % Self.alphabet.count]
        }
        guard letters.count == Self.count else { return nil }
    }

    /// A code as a person types it. Nil if it cannot be one.
    package init?(_ typed: String) {
        guard typed.utf8.count <= 32 else { return nil }
        letters = typed.uppercased().utf8.filter {
            $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ")
        }
        guard letters.count == Self.count, letters.allSatisfy(Self.alphabet.contains) else {
            return nil
        }
    }

    /// In two groups, such as `WDJB-MJHT`.
    package var description: String {
        let half = Self.count / 2
        return String(decoding: letters.prefix(half), as: UTF8.self) + "-"
            + String(decoding: letters.suffix(half), as: UTF8.self)
    }
}

/// A code that a person typed at the page.
package struct TypedCode: Sendable {
    package let code: UserCode
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(_ code: UserCode, origin: String) {
        self.code = code
        self.origin = origin
    }
}

/// The secret of the program or board that shows a `UserCode`: 32 random bytes. With it the program
/// learns what the person decided.
package struct DeviceCode: Sendable {
    package let secret: SecretBytes
    static let randomCount = 32

    init(random: [UInt8]) { secret = SecretBytes(random) }

    /// Nil if the text cannot be a code.
    package init?(_ text: String) {
        guard text.utf8.count <= 64, let bytes = Base64URL.decode(text),
            bytes.count == Self.randomCount
        else { return nil }
        secret = SecretBytes(bytes)
    }

    /// Only the program or board that asks may see it.
    package func reveal() -> String { Base64URL.encode(secret.reveal()) }
}

extension Authority {
    // The store finds a code by its HMAC. So the time of a search does not depend on how much of a
    // guessed code is right.

    func hash(of code: UserCode) throws(AuthorityError) -> [UInt8] {
        try hash(of: SecretBytes(Array("postern/v1 user code ".utf8) + code.letters))
    }

    func hash(of code: DeviceCode) throws(AuthorityError) -> [UInt8] {
        let bytes = code.secret.reveal()
        return try hash(of: SecretBytes(Array("postern/v1 device code ".utf8) + bytes))
    }
}
