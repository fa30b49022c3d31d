import LinuxIO

/// A small file that is replaced as a whole. A power cut leaves the old content or the new.
///
/// If secrets are destroyed, the old file is kept as `PATH.old` until the new file has its name.
/// Then `eraseOld` overwrites and removes it. A power cut in between leaves `PATH.old`, which the
/// next start overwrites.
struct ReplacedFile {
    let folder: String
    let path: String
    private var old: String { path + ".old" }

    init(in folder: String, _ name: String) {
        self.folder = folder
        path = "\(folder)/\(name)"
    }

    /// The new content is durable when this returns. If it throws, the old content remains. After
    /// `unavailable(.inputOutput)` either may remain.
    ///
    /// `isErasing`: the caller will call `eraseOld`.
    func write(_ bytes: [UInt8], isErasing: Bool) throws(StoreError) {
        do throws(FileFailure) {
            if isErasing, PrivateFile.isThere(path), !PrivateFile.isThere(old) {
                try PrivateFile.link(path, as: old)
            }
            try PrivateFile.write(path, bytes)
        } catch {
            throw StoreError(error)
        }
    }

    /// Overwrites and removes the old file of an erasing replacement.
    func eraseOld() throws(StoreError) {
        guard PrivateFile.isThere(old) else { return }
        do throws(FileFailure) {
            // After a power cut before the rename, both names belong to the valid file.
            if !PrivateFile.isSame(path, as: old) {
                // The earlier sync of the new name may have failed.
                try PrivateFolder.syncNames(in: folder)
                try PrivateFile.erase(old)
            }
            try PrivateFile.remove(old)
        } catch {
            throw StoreError(error)
        }
    }

    /// Reads the file. Nil if it does not exist. Empty if it has more than `limit` bytes.
    func read(limit: Int) throws(StoreError) -> [UInt8]? {
        do throws(FileFailure) {
            return try PrivateFile.read(path, limit: limit)
        } catch .missing {
            return nil
        } catch .tooLarge {
            return []
        } catch {
            throw StoreError(error)
        }
    }
}
