import COpenSSL
import Sessions

/// The cost of scrypt: N = 2^log2N blocks of 128 r bytes, p times. Source: RFC 7914 §2.
struct ScryptCost: Equatable, Sendable {
    let log2N: Int
    let r: Int
    let p: Int

    /// 32 MiB and about 0.3 s. Source: OWASP Password Storage Cheat Sheet, scrypt.
    static let standard = ScryptCost(log2N: 15, r: 8, p: 3)

    /// Checks no bounds: only for constants in the program.
    init(log2N: Int, r: Int, p: Int) {
        self.log2N = log2N
        self.r = r
        self.p = p
    }

    /// Parses `ln=15,r=8,p=1` in exactly this order and form; nil outside the bounds.
    init?(_ text: some StringProtocol) {
        let fields = text.split(separator: ",", maxSplits: 3, omittingEmptySubsequences: false)
        guard fields.count == 3,
            let log2N = Self.number(fields[0], named: "ln="), (14...17).contains(log2N),
            let r = Self.number(fields[1], named: "r="), (8...16).contains(r),
            let p = Self.number(fields[2], named: "p="), (1...4).contains(p)
        else { return nil }
        let cost = ScryptCost(log2N: log2N, r: r, p: p)
        guard cost.memory <= 128 << 20 else { return nil }
        self = cost
    }

    /// The memory for the blocks, in bytes.
    var memory: Int { (128 * r) << log2N }

    private static func number(_ field: some StringProtocol, named name: String) -> Int? {
        guard field.hasPrefix(name) else { return nil }
        let digits = field.dropFirst(name.count)
        guard (1...2).contains(digits.utf8.count), !digits.hasPrefix("0"),
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(digits)
    }
}

/// Password-based key derivation that needs much memory. Source: RFC 7914 §6.
enum Scrypt {
    /// The allowed length of a password: 1 byte to 1 KiB.
    static let passwordCounts = 1...1024

    /// Throws `malformed` for a password length outside `passwordCounts`.
    ///
    /// The corresponding C function is `EVP_PBE_scrypt`.
    static func derive(
        from password: SecretBytes, salt: [UInt8], cost: ScryptCost, count: Int
    ) throws(CryptographyError) -> SecretBytes {
        guard passwordCounts.contains(password.count) else { throw .malformed }
        // OpenSSL also counts p further blocks and a little more against the limit.
        let limit = UInt64(cost.memory + 128 * cost.r * cost.p + (1 << 20))
        return try unsafe SecretBytes.filled(count: count) {
            output throws(CryptographyError) in
            let result = unsafe password.withBytes { password in
                let text = unsafe password.assumingMemoryBound(to: CChar.self).baseAddress
                let bytes = unsafe output.assumingMemoryBound(to: UInt8.self).baseAddress
                return unsafe EVP_PBE_scrypt(
                    text, password.count, salt, salt.count,
                    1 << UInt64(cost.log2N), UInt64(cost.r), UInt64(cost.p), limit,
                    bytes, output.count)
            }
            try OpenSSL.one("EVP_PBE_scrypt", result)
        }
    }
}
