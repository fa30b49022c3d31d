import Glibc

/// A lock on a folder, so that only one process works in it. It is released when its owner is
/// freed.
///
/// The lock is on a file `lock` in the folder. The kernel releases it when the process ends, even
/// after a crash. The corresponding C function is `flock`.
package struct FolderLock: ~Copyable {
    private let file: Descriptor

    /// Takes the lock at once, or throws `inUse`.
    package init(_ folder: String) throws(FileFailure) {
        let path = folder + "/lock"
        let raw = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        while flock(file.raw, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { throw .inUse(path: folder) }
            if errno != EINTR { throw FileFailure(.last("flock"), path: path) }
        }
        self.file = file
    }
}
