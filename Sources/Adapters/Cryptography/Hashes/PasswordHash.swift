import COpenSSL
package import Sessions

/// A person's password hash, as an authority stores it: scrypt with its salt and parameters.
///
/// Source: RFC 7914 §6; the PHC string format.
package struct PasswordHash: Sendable {
    private let cost: ScryptCost
    private let salt: [UInt8]
    private let hash: [UInt8]

    static let saltCount = 16
    static let hashCount = 32

    /// Hashes `password` with a new salt. Takes about 0.3 s and 32 MiB, so never call it on an
    /// event loop.
    ///
    /// Throws `malformed` for a password that is empty or over 1 KiB.
    package static func make(_ password: SecretBytes) throws(CryptographyError) -> PasswordHash {
        let salt = try RandomBytes.make(saltCount)
        let hash = try Scrypt.derive(
            from: password, salt: salt, cost: .standard, count: hashCount)
        return PasswordHash(cost: .standard, salt: salt, hash: hash.reveal())
    }

    private init(cost: ScryptCost, salt: [UInt8], hash: [UInt8]) {
        self.cost = cost
        self.salt = salt
        self.hash = hash
    }

    /// Whether `password` is the hashed password. Takes as long as `make`.
    ///
    /// Returns false at once for a password that `make` would refuse.
    package func verify(_ password: SecretBytes) throws(CryptographyError) -> Bool {
        guard Scrypt.passwordCounts.contains(password.count) else { return false }
        let candidate = try Scrypt.derive(
            from: password, salt: salt, cost: cost, count: hash.count)
        return candidate.matches(SecretBytes(hash))
    }

    /// Whether the cost differs from the cost that `make` uses now.
    package var isOutdated: Bool { cost != .standard }

    /// Does the work of `verify` for a user that does not exist, so that the time does not reveal
    /// which names exist. Always false.
    package static func verifyNobody(_ password: SecretBytes) throws(CryptographyError) -> Bool {
        let salt = [UInt8](repeating: 0, count: saltCount)
        let nobody = PasswordHash(
            cost: .standard, salt: salt, hash: [UInt8](repeating: 0, count: hashCount))
        _ = try nobody.verify(password)
        return false
    }
}

extension PasswordHash {
    /// The stored form: `$scrypt$ln=15,r=8,p=3$salt$hash`. Source: the PHC string format.
    package var phc: String {
        let parameters = "ln=\(cost.log2N),r=\(cost.r),p=\(cost.p)"
        return "$scrypt$\(parameters)$\(Base64.encode(salt))$\(Base64.encode(hash))"
    }

    /// Parses the output of `phc`. Nil for any other text, and for parameters that need more than
    /// 128 MiB or are too weak.
    package init?(phc: String) {
        guard phc.utf8.count <= 512 else { return nil }
        let fields = phc.split(separator: "$", maxSplits: 5, omittingEmptySubsequences: false)
        guard fields.count == 5, fields[0].isEmpty, fields[1] == "scrypt",
            let cost = ScryptCost(fields[2]),
            let salt = Base64.decode(fields[3]), (8...64).contains(salt.count),
            let hash = Base64.decode(fields[4]), (16...64).contains(hash.count)
        else { return nil }
        self.init(cost: cost, salt: salt, hash: hash)
    }
}

extension PasswordHash: CustomStringConvertible, CustomReflectable {
    /// Never shows the hash, because it would help to guess the password.
    package var description: String { "(password hash)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
