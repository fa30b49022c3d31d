import Glibc

/// A file of a fixed size that is written in place and synced.
///
/// Only this user may read it. The corresponding C functions are `posix_fallocate`, `pread`,
/// `pwrite` and `fdatasync`.
package struct LogFile: ~Copyable {
    private let file: Descriptor
    package let path: String
    /// In bytes.
    package let size: Int

    /// Opens an existing file. Throws for a link, or for a file that other users may read.
    package init(_ path: String, isReadOnly: Bool = false) throws(FileFailure) {
        let flags = (isReadOnly ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let raw = unsafe open(path, flags)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        try FileCheck.check(file.raw, path, kind: S_IFREG, strictestMode: 0o600)
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else {
            throw FileFailure(.last("fstat"), path: path)
        }
        self.file = file
        self.path = path
        size = Int(status.st_size)
    }

    /// Makes a file of `size` zeros and reserves its space on the disk. Its name is not durable
    /// yet.
    ///
    /// Throws `noSpace` if there is no room, and leaves no file then.
    package init(making path: String, size: Int) throws(FileFailure) {
        let raw = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        // If the file system cannot reserve space, the C library writes to each block.
        let code = posix_fallocate(file.raw, 0, off_t(size))
        guard code == 0, fchmod(file.raw, 0o600) == 0 else {
            let error = code == 0 ? .last("fchmod") : SystemError("posix_fallocate", code: code)
            _ = unsafe unlink(path)
            throw FileFailure(error, path: path)
        }
        self.file = file
        self.path = path
        self.size = size
    }

    /// Reads `count` bytes from `offset`; fewer at the file's end.
    package func read(_ count: Int, at offset: Int) throws(FileFailure) -> [UInt8] {
        let wanted = max(0, min(count, size - offset))
        var code: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, done in
            while done < wanted {
                let count = unsafe pread(
                    file.raw, buffer.baseAddress?.advanced(by: done), wanted - done,
                    off_t(offset + done))
                if count == 0 { break }
                if count > 0 {
                    done += count
                } else if errno != EINTR {
                    code = errno
                    break
                }
            }
        }
        guard code == 0 else { throw FileFailure(SystemError("pread", code: code), path: path) }
        return bytes
    }

    /// Whether all bytes are zero, as in space that was never written. The corresponding C function
    /// is `memcmp`.
    package static func isBlank(_ bytes: [UInt8]) -> Bool {
        guard bytes.first == 0 else { return bytes.isEmpty }
        return unsafe bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress else { return true }
            return unsafe memcmp(base, base + 1, buffer.count - 1) == 0
        }
    }

    private static let page = 4096

    /// Writes all of `bytes`, which must end within the file's size. Not durable before `sync`.
    ///
    /// It writes page by page. For a large write the kernel makes one large folio. A small change
    /// in it later counts as a change of the whole folio, and some file systems write all of it.
    package func write(_ bytes: [UInt8], at offset: Int) throws(FileFailure) {
        guard offset >= 0, bytes.count <= size - offset else {
            throw .tooLarge(path: path, limit: size)
        }
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe pwrite(
                    file.raw, buffer.baseAddress?.advanced(by: done),
                    min(buffer.count - done, Self.page - (offset + done) % Self.page),
                    off_t(offset + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileFailure(.last("pwrite"), path: path) }
            done += count
        }
    }

    /// Whether the file still has a name. The corresponding C function is `fstat`.
    package var hasName: Bool {
        var status = stat()
        return unsafe fstat(file.raw, &status) == 0 && status.st_nlink > 0
    }

    /// Makes the written data survive a power cut. After a failure the file's whole content is
    /// uncertain: the kernel may mark a page as clean that it has not written. Source:
    /// lwn.net/Articles/752063.
    package func sync() throws(FileFailure) {
        guard fdatasync(file.raw) == 0 else { throw FileFailure(.last("fdatasync"), path: path) }
    }
}
