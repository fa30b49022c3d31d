import Glibc

/// A new file that only this user may use.
///
/// It is created empty, with its name. A process that gives up its rights before it writes keeps
/// the open file.
package struct NewPrivateFile: ~Copyable {
    private let file: Descriptor
    private let path: String

    /// Makes the file with mode 0600. Throws if the name exists, even as a link, and leaves that
    /// file unchanged.
    package init(_ path: String) throws(FileFailure) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let raw = unsafe open(path, flags, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        guard fchmod(file.raw, 0o600) == 0 else { throw FileFailure(.last("fchmod"), path: path) }
        self.file = file
        self.path = path
    }

    /// Writes the whole content, durably. If that fails, the file is removed, if this user may.
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
