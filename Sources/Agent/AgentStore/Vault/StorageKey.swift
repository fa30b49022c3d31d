import Cryptography
import Sessions

/// The storage key, and the keys derived from it.
struct StorageKey {
    private let secret: SecretBytes
    /// The name of the key source, for messages.
    let source: String

    init(_ secret: SecretBytes, source: String) {
        self.secret = secret
        self.source = source
    }

    /// A value that identifies this key without revealing it.
    func fingerprint() throws(StoreError) -> [UInt8] {
        Array(try derive("fingerprint").reveal().prefix(VaultFile.fingerprintBytes))
    }

    /// The key of one file. `name` is its purpose.
    func derive(_ name: String) throws(StoreError) -> SecretBytes {
        do throws(CryptographyError) {
            return try HKDFSHA256.derive(
                from: secret, salt: [], info: Array("postern/vault/1 \(name)".utf8), count: 32)
        } catch {
            throw StoreError(error)
        }
    }
}
