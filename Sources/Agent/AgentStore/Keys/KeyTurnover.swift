import Cryptography
import LinuxIO
import Sessions

/// Replaces the storage key completely or not at all, even if power is cut.
///
/// The new key is in `storage.key.next` before the vault is sealed with it. Then the old key is
/// overwritten and the new one takes its name. The key that opens the vault is in force.
extension KeyFile {
    /// Whether a key change is not finished.
    var isTurning: Bool { PrivateFile.isThere(next) }

    /// Whether the key in force is the next one.
    func isNext(_ key: StorageKey, _ vault: VaultFile) throws(StoreError) -> Bool {
        guard let next = try? loadNext() else { return false }
        return try constantTimeEquals(
            StorageKey(next, source: name).fingerprint(), key.fingerprint())
    }

    /// Destroys the old key and gives the next one its name.
    func adoptNext() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFile.erase(name)
            try PrivateFile.move(next, to: name)
        } catch {
            throw StoreError(error)
        }
    }

    /// Destroys the next key, because the vault never used it.
    func dropNext() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFile.erase(next)
            try PrivateFile.remove(next)
        } catch {
            throw StoreError(error)
        }
    }
}
