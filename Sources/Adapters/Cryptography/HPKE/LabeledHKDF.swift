import Sessions

/// HKDF for HPKE: each use is bound to its suite and its label. Source: RFC 9180 §4.
struct LabeledHKDF {
    private static let version = Array("HPKE-v1".utf8)
    /// `suite_id` of the KEM alone, or of the whole suite.
    let suite: [UInt8]

    /// LabeledExtract(salt, label, ikm). The parts of `ikm` are joined in order.
    func extract(
        salt: SecretBytes, label: String, from ikm: [SecretBytes]
    ) throws(CryptographyError) -> SecretBytes {
        let prefix = Self.version + suite + Array(label.utf8)
        return try HKDFSHA256.extract(from: [SecretBytes(prefix)] + ikm, salt: salt)
    }

    /// LabeledExpand(prk, label, info, L).
    func expand(
        from key: SecretBytes, label: String, info: [UInt8], count: Int
    ) throws(CryptographyError) -> SecretBytes {
        guard let length = UInt16(exactly: count) else { throw .malformed }
        let labeled = bigEndian(length) + Self.version + suite + Array(label.utf8) + info
        return try HKDFSHA256.expand(from: key, info: labeled, count: count)
    }
}

/// I2OSP(number, 2). Source: RFC 8017 §4.1.
func bigEndian(_ number: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
}
