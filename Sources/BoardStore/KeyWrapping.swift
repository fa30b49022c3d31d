import Cryptography
import Sessions

/// Wraps the data keys under the storage key.
struct KeyWrapping {
    private let storageKey: SecretBytes
    let source: String

    init(_ storageKey: SecretBytes, source: String) {
        self.storageKey = storageKey
        self.source = source
    }

    /// A value that tells this storage key from another one without giving it away.
    func fingerprint() throws(StoreError) -> [UInt8] {
        try derive("fingerprint").reveal()
    }

    func wrap(_ key: DataKey, for purpose: KeyPurpose) throws(StoreError) -> [UInt8] {
        let place = Place.key(purpose, generation: key.generation)
        return try RecordBox.seal(key.secret, under: try derive(purpose.rawValue), at: place)
    }

    /// Nil when the key is wrong or any bit of the wrapped key or its generation differs.
    func unwrap(
        _ wrapped: [UInt8], generation: Int64, for purpose: KeyPurpose
    ) throws(StoreError) -> DataKey? {
        let place = Place.key(purpose, generation: generation)
        let key = try RecordBox.open(wrapped, under: try derive(purpose.rawValue), at: place)
        guard let key, key.count == 32 else { return nil }
        return DataKey(secret: key, generation: generation)
    }

    func sealCopy(_ copy: SecretBytes) throws(StoreError) -> [UInt8] {
        try RecordBox.seal(copy, under: try derive("identity copy"), at: Place.identityCopy)
    }

    /// Nil when the key is another, or any bit differs.
    func openCopy(_ sealed: [UInt8]) throws(StoreError) -> SecretBytes? {
        try RecordBox.open(sealed, under: try derive("identity copy"), at: Place.identityCopy)
    }

    private func derive(_ use: String) throws(StoreError) -> SecretBytes {
        do throws(CryptographyError) {
            return try HKDFSHA256.derive(
                from: storageKey, salt: [], info: Array("postern/store/1 \(use)".utf8), count: 32)
        } catch {
            throw StoreError(error)
        }
    }
}
