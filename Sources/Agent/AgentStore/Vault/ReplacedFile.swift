import LinuxIO

/// A small file that is replaced as a whole: a power cut leaves the old content or the new.
///
/// Where something is destroyed, the old file is kept as `PATH.old` until the new one has its name;
/// then `eraseOld` overwrites it in its place and removes it. A cut in between leaves `PATH.old`,
/// which the next start overwrites.
struct ReplacedFile {
    let folder: String
    let path: String
    private var old: String { path + ".old" }

    init(in folder: String, _ name: String) {
        self.folder = folder
        path = "\(folder)/\(name)"
    }

    /// Durable when it returns. When it throws the old content is there; but after
    /// `unavailable(.inputOutput)` either may be.
    ///
    /// `isErasing`: `eraseOld` is to follow.
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

    /// Overwrites and removes what an erasing replacement has left.
    func eraseOld() throws(StoreError) {
        guard PrivateFile.isThere(old) else { return }
        do throws(FileFailure) {
            // Cut before the new one had its name: both are names of what counts.
            if !PrivateFile.isSame(path, as: old) {
                // The sync of that name may have failed before.
                try PrivateFolder.syncNames(in: folder)
                try PrivateFile.erase(old)
            }
            try PrivateFile.remove(old)
        } catch {
            throw StoreError(error)
        }
    }

    /// Nil where there is none; no bytes where it has more than `limit`.
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
