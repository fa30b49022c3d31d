import Cryptography
import LinuxIO
package import Sessions

/// Where the storage key comes from. It never stands in the database.
package protocol KeySource {
    /// For people and logs, such as a path.
    var name: String { get }
    /// The key, 32 bytes, or nil if none was ever made.
    func load() throws(StoreError) -> SecretBytes?
    /// Makes a key. It is durable when this returns.
    func create() throws(StoreError) -> SecretBytes
}

/// The storage key as a file of 32 bytes, mode 0600, beside the database.
///
/// It protects what leaves the board without this file, and nothing from who takes both.
package struct KeyFile: KeySource {
    static let keyCount = 32
    package let name: String

    /// `storage.key` in the state folder.
    package init(folder: String) { name = folder + "/storage.key" }

    /// Throws `unsafePermissions` for a file that others may read, `keyWrong` for one that has
    /// not 32 bytes.
    package func load() throws(StoreError) -> SecretBytes? {
        do throws(FileFailure) {
            let bytes = try PrivateFile.read(name, limit: Self.keyCount)
            guard bytes.count == Self.keyCount else { throw .tooLarge(path: name, limit: 0) }
            return SecretBytes(bytes)
        } catch {
            switch error {
            case .missing: return nil
            case .tooLarge: throw .keyWrong(source: name)
            default: throw StoreError(error)
            }
        }
    }

    package func create() throws(StoreError) -> SecretBytes {
        let key: SecretBytes
        do throws(CryptographyError) {
            key = try RandomBytes.secret(Self.keyCount)
        } catch {
            throw StoreError(error)
        }
        do throws(FileFailure) {
            try PrivateFile.write(name, key.reveal())
        } catch {
            throw StoreError(error)
        }
        return key
    }
}
