import Glibc

/// A lock that makes processes create files in a folder one after the other. It is released when
/// its owner is freed.
///
/// The lock is on the folder itself, so it leaves no file and does not conflict with a
/// `FolderLock`. The kernel releases it when the process ends. The corresponding C function is
/// `flock`.
package struct FolderTurn: ~Copyable {
    private let folder: Descriptor

    /// Waits, without a time limit, until no other process or thread holds the lock.
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
