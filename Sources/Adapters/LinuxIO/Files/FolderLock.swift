import Glibc

/// The right to be the one process that works in a folder, given back with its owner.
///
/// It lies on a file `lock` in the folder; the kernel drops it when the process ends, however
/// it ends. The corresponding C function is `flock`.
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
