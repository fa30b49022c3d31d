import Glibc

/// A turn at making files in a folder, waited for and given back with its owner.
///
/// It lies on the folder itself, so it leaves no file and stands beside a `FolderLock`. The
/// kernel ends it with the process. The corresponding C function is `flock`.
package struct FolderTurn: ~Copyable {
    private let folder: Descriptor

    /// Waits, without an end, until no other process or thread has its turn.
    package init(at path: String) throws(FileFailure) {
        let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let folder = Descriptor(owning: raw)
        while flock(folder.raw, LOCK_EX) != 0 {
            if errno != EINTR { throw FileFailure(.last("flock"), path: path) }
        }
        self.folder = folder
    }
}
