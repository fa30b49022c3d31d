import Glibc

extension PrivateFile {
    /// Overwrites a file's content in its place, durably; its length stays. A file that is not
    /// there is not an error.
    ///
    /// What a flash memory has put aside of the old content is out of reach.
    package static func erase(_ path: String) throws(FileFailure) {
        let raw = unsafe open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard raw >= 0 else {
            if errno == ENOENT { return }
            throw FileFailure(.last("open"), path: path)
        }
        let file = Descriptor(owning: raw)
        try FileCheck.check(file.raw, path, kind: S_IFREG, strictestMode: 0o600)
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
