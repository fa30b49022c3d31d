import Glibc

extension PrivateFile {
    /// Makes a file that was not there, for this user alone, and syncs it. Whatever has the name
    /// already, a link too, is left as it is, and it throws.
    package static func make(_ path: String, _ bytes: [UInt8]) throws(FileFailure) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let raw = unsafe open(path, flags, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        do throws(SystemError) {
            guard fchmod(file.raw, 0o600) == 0 else { throw .last("fchmod") }
            try file.writeAll(bytes)
            guard fsync(file.raw) == 0 else { throw .last("fsync") }
        } catch {
            _ = unsafe unlink(path)
            throw FileFailure(error, path: path)
        }
    }
}
