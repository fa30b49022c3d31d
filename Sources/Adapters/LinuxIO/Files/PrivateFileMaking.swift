import Glibc

/// A file that was not there before, for this user alone.
///
/// It has its name, and is empty, from the beginning: who gives rights up before it is written
/// keeps what was opened with them.
package struct NewPrivateFile: ~Copyable {
    private let file: Descriptor
    private let path: String

    /// Makes it, mode 0600. Whatever has the name already, a link too, is left as it is, and it
    /// throws.
    package init(_ path: String) throws(FileFailure) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let raw = unsafe open(path, flags, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        guard fchmod(file.raw, 0o600) == 0 else { throw FileFailure(.last("fchmod"), path: path) }
        self.file = file
        self.path = path
    }

    /// Writes all that is to be in it, durably. When that fails it is removed, if this user may.
    package consuming func write(_ bytes: [UInt8]) throws(FileFailure) {
        do throws(SystemError) {
            try file.writeAll(bytes)
            guard fsync(file.raw) == 0 else { throw .last("fsync") }
        } catch {
            _ = unsafe unlink(path)
            throw FileFailure(error, path: path)
        }
    }
}
