import Cryptography
import LinuxIO
import Sessions

/// A new storage key in the place of the old one, whole or not at all wherever power is cut.
///
/// The new one is in `storage.key.next` before the vault is sealed under it; then the old one is
/// overwritten and the new one takes its name. The one of the two that opens the vault is the one
/// in force.
extension KeyFile {
    /// Whether a change was begun and not finished.
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

    /// Destroys the next one, which the vault never went over to.
    func dropNext() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFile.erase(next)
            try PrivateFile.remove(next)
        } catch {
            throw StoreError(error)
        }
    }
}
