import COpenSSL
package import Sessions

/// A password hash in mosquitto's form: PBKDF2 with HMAC-SHA512, 12 bytes of salt, 64 of hash.
///
/// The broker has one thread and does this work at each CONNECT. So the default is mosquitto's own
/// 101 rounds. They suffice for passwords of 32 random bytes, the only ones that Postern gives a
/// broker. They are too few for a person's password. Source: RFC 8018 §5.2; mosquitto 2.0,
/// `pw__hash`.
package enum MosquittoPassword {
    /// Mosquitto's own default, `PW_DEFAULT_ITERATIONS`.
    package static let standardIterations = 101
    private static let saltCount = 12
    private static let hashCount = 64

    /// The hash of one user in either of mosquitto's files. Salt and hash are standard base64
    /// with padding.
    package struct Entry: Equatable, Sendable {
        /// `salt` in `dynamic-security.json`.
        package let salt: String
        /// `password` in `dynamic-security.json`.
        package let password: String
        /// `iterations` in `dynamic-security.json`.
        package let iterations: Int

        /// The text after `name:` in a `password_file`: `$7$iterations$salt$hash`.
        package var passwordFileField: String { "$7$\(iterations)$\(salt)$\(password)" }
    }

    /// The entry for `password`, with a new salt.
    ///
    /// Throws `malformed` for a password that is empty, over 1 KiB, or has a NUL, where mosquitto
    /// would stop reading. Also for iterations outside 1...1,000,000.
    package static func entry(
        for password: SecretBytes, iterations: Int = standardIterations
    ) throws(CryptographyError) -> Entry {
        try entry(for: password, salt: RandomBytes.make(saltCount), iterations: iterations)
    }

    /// The corresponding C function is `PKCS5_PBKDF2_HMAC`.
    static func entry(
        for password: SecretBytes, salt: [UInt8], iterations: Int
    ) throws(CryptographyError) -> Entry {
        guard Scrypt.passwordCounts.contains(password.count),
            unsafe password.withBytes({ unsafe !$0.contains(0) }),
            salt.count == saltCount, (1...1_000_000).contains(iterations)
        else { throw .malformed }
        let algorithm = try unsafe Algorithm.sha512
        var hash = [UInt8](repeating: 0, count: hashCount)
        let result = unsafe password.withBytes { password in
            let text = unsafe password.assumingMemoryBound(to: CChar.self).baseAddress
            return unsafe PKCS5_PBKDF2_HMAC(
                text, Int32(password.count), salt, Int32(salt.count), Int32(iterations),
                algorithm, Int32(hashCount), &hash)
        }
        try OpenSSL.one("PKCS5_PBKDF2_HMAC", result)
        return Entry(
            salt: Base64.encodePadded(salt), password: Base64.encodePadded(hash),
            iterations: iterations)
    }
}
