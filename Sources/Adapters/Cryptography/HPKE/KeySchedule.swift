import Sessions

/// The key and nonce that HPKE derives from a shared secret. Source: RFC 9180 §5.1.
struct KeySchedule {
    /// Source: RFC 9180 §5, table 1.
    enum Mode: UInt8 {
        case base = 0
        case psk = 1
        case auth = 2
        case authPSK = 3
    }

    let key: SecretBytes
    /// The nonce of the first message, which is the only one in a single shot.
    let baseNonce: [UInt8]

    /// HKDF-SHA256 and AES-256-GCM. Source: RFC 9180 §7.2 and §7.3, tables 3 and 5.
    private static let hkdf = LabeledHKDF(
        suite: Array("HPKE".utf8) + bigEndian(DHKEM.identifier)
            + bigEndian(0x0001) + bigEndian(0x0002))

    /// KeySchedule(mode, shared_secret, info, psk, psk_id). The arguments decide the mode. The
    /// exporter secret is not made, because nothing here uses it.
    ///
    /// Source: RFC 9180 §5.1.
    init(
        sharedSecret: SecretBytes, info: [UInt8], psk: HPKE.PreSharedKey?, hasSender: Bool
    ) throws(CryptographyError) {
        try Self.verify(psk)
        let mode: Mode = psk == nil ? (hasSender ? .auth : .base) : (hasSender ? .authPSK : .psk)
        let none = SecretBytes([])
        let pskIDHash = try Self.hkdf.extract(
            salt: none, label: "psk_id_hash", from: [SecretBytes(psk?.id ?? [])])
        let infoHash = try Self.hkdf.extract(
            salt: none, label: "info_hash", from: [SecretBytes(info)])
        let context = [mode.rawValue] + pskIDHash.reveal() + infoHash.reveal()
        let secret = try Self.hkdf.extract(
            salt: sharedSecret, label: "secret", from: [psk?.key ?? none])
        key = try Self.hkdf.expand(
            from: secret, label: "key", info: context, count: AES256GCM.keyCount)
        baseNonce = try Self.hkdf.expand(
            from: secret, label: "base_nonce", info: context, count: AES256GCM.nonceCount
        ).reveal()
    }

    /// Checks that a pre-shared key has at least 32 bytes and a name. Source: RFC 9180 §5.1 and
    /// §5.1.2.
    private static func verify(_ psk: HPKE.PreSharedKey?) throws(CryptographyError) {
        guard let psk else { return }
        guard psk.key.count >= HPKE.PreSharedKey.leastCount, !psk.id.isEmpty else {
            throw .malformed
        }
    }
}
