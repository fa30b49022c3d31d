import Glibc

extension PrivateFile {
    /// Overwrites a file's content with hyphens, durably. Its length stays the same. A missing file
    /// is not an error.
    ///
    /// Old copies that a flash memory keeps elsewhere cannot be reached.
    package static func erase(
        _ path: String, strictestMode: UInt32 = 0o600
    ) throws(FileFailure) {
        let raw = unsafe open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard raw >= 0 else {
            if errno == ENOENT { return }
            throw FileFailure(.last("open"), path: path)
        }
        let file = Descriptor(owning: raw)
        try FileCheck.check(file.raw, path, kind: S_IFREG, strictestMode: strictestMode)
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else {
            throw FileFailure(.last("fstat"), path: path)
        }
        let blank = [UInt8](repeating: UInt8(ascii: "-"), count: min(Int(status.st_size), 65_536))
        do throws(SystemError) {
            try file.writeAll(blank)
            guard fsync(file.raw) == 0 else { throw .last("fsync") }
        } catch {
            throw FileFailure(error, path: path)
        }
    }
}
