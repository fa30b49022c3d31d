import AuthorityCore
import AuthorityStore
import Cryptography
import LinuxIO
import Sessions

/// The key that wraps the secrets in the store. It is kept apart from the store: in
/// `authority.key`, or in the place that `master_key_file` names. All authorities that share a
/// store share the key.
///
/// A copy of the database alone reveals no secret.
package struct MasterKey: SecretWrapping {
    private static let nonceCount = AES256GCM.nonceCount
    /// The error layer for secrets that this key cannot unwrap.
    static let layer = "master key"
    private let key: SecretBytes

    /// Makes a new key and stores it durably at `path`, readable for this user only.
    static func make(at path: String) throws {
        try MasterKey.fresh().keep(at: path)
    }

    /// A new key, which is not stored yet.
    static func fresh() throws -> MasterKey {
        MasterKey(key: try RandomBytes.secret(AES256GCM.keyCount))
    }

    /// Checks that a key could be stored at `path`. Leaves no file there.
    static func requireRoom(at path: String) throws(FileFailure) {
        // The random name allows several processes to try at the same time.
        let trial = "\(path).\(UInt32.random(in: .min ... .max)).trial"
        _ = try NewPrivateFile(trial)
        try PrivateFile.remove(trial)
    }

    func keep(at path: String) throws { try PrivateFile.write(path, key.reveal()) }

    private init(key: SecretBytes) { self.key = key }

    /// Reads the key at `path`. Only this user may be able to read the file.
    package init(at path: String) throws {
        // systemd lets the service's user read a credential by an access list, which shows as the
        // group's permission.
        let folder = LinuxIO.Environment.value("CREDENTIALS_DIRECTORY")
        let isCredential = folder.map { !$0.isEmpty && path.hasPrefix($0 + "/") } ?? false
        guard !path.hasPrefix(StateFolderError.credential) else {
            throw StateFolderError.keyMissing(path)
        }
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(
                path, limit: AES256GCM.keyCount, strictestMode: isCredential ? 0o640 : 0o600)
        } catch {
            guard case .missing = error else { throw error }
            throw StateFolderError.keyMissing(path)
        }
        guard bytes.count == AES256GCM.keyCount else {
            throw AuthorityError.failed(
                layer: "store", text: "\(path) is not a master key; restore it from a backup")
        }
        key = SecretBytes(bytes)
    }

    func wrap(_ secret: SecretBytes, place: String) throws(AuthorityError) -> [UInt8] {
        do throws(CryptographyError) {
            let nonce = try RandomBytes.make(Self.nonceCount)
            return nonce + (try AES256GCM.seal(
                secret.reveal(), key: key, nonce: nonce, aad: Array(place.utf8)))
        } catch {
            throw .failed(layer: "crypto", text: error.words)
        }
    }

    func isWhole(_ key: KeyRecord) -> Bool {
        do throws(CryptographyError) {
            switch key.kind {
            case .seal:
                let own = try X25519PrivateKey(rawRepresentation: key.privateKey).publicKey
                return own.rawRepresentation == key.publicKey
                    && own.keyID.description == key.name
            case .signing:
                let own = try Ed25519PrivateKey(rawRepresentation: key.privateKey).publicKey
                return own.rawRepresentation == key.publicKey
                    && own.keyID.description == key.name
            case .push:
                return try P256PrivateKey(pem: key.privateKey).publicPoint == key.publicKey
            case .tokenHash, .refresh, .brokerPassword: return true
            }
        } catch {
            return false
        }
    }

    func unwrap(_ bytes: [UInt8], place: String) throws(AuthorityError) -> SecretBytes {
        do throws(CryptographyError) {
            return SecretBytes(try AES256GCM.open(
                Array(bytes.dropFirst(Self.nonceCount)), key: key,
                nonce: Array(bytes.prefix(Self.nonceCount)), aad: Array(place.utf8)))
        } catch {
            throw .failed(
                layer: Self.layer, text: "\(place) cannot be unwrapped: it is damaged, or it "
                    + "needs another master key")
        }
    }
}
