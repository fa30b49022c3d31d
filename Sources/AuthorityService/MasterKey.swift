import AuthorityCore
import AuthorityStore
import Cryptography
import LinuxIO
import Sessions

/// The key that wraps the secrets in the store, kept in a file beside it: `authority.key`.
///
/// A copy of the database alone gives none of them away.
struct MasterKey: SecretWrapping {
    private static let nonceCount = AES256GCM.nonceCount
    private let key: SecretBytes

    /// Makes a new one and keeps it at `path`, durably, for this user alone.
    static func make(at path: String) throws {
        let bytes = try RandomBytes.secret(AES256GCM.keyCount)
        try PrivateFile.write(path, bytes.reveal())
    }

    /// Reads the one at `path`, which nobody else may be able to read.
    init(at path: String) throws {
        let bytes = try PrivateFile.read(path, limit: AES256GCM.keyCount)
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

    func unwrap(_ bytes: [UInt8], place: String) throws(AuthorityError) -> SecretBytes {
        do throws(CryptographyError) {
            return SecretBytes(try AES256GCM.open(
                Array(bytes.dropFirst(Self.nonceCount)), key: key,
                nonce: Array(bytes.prefix(Self.nonceCount)), aad: Array(place.utf8)))
        } catch {
            throw .failed(
                layer: "store", text: "\(place) cannot be unwrapped: damaged, or another "
                    + "master key's")
        }
    }
}
