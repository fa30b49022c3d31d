import Glibc

/// A new file of mode 0600 that gets its name when it is complete. Until then it has another name
/// in the same folder. If it is freed before, it is removed.
package final class UnfinishedFile {
    private let file: Descriptor
    private let path: String
    private let temporary: String
    private let replaces: Bool
    private var buffer: [UInt8] = []
    private static let bufferSize = 65_536

    /// Makes the file empty.
    ///
    /// - Throws: `exists` if there is a file at `path` and `replaces` is false; `wrongKind` for a
    ///   folder, link or device.
    package init(_ path: String, replaces: Bool) throws(FileFailure) {
        try Self.check(path, replaces)
        let temporary = "\(path).\(getpid()).unfinished"
        _ = unsafe Glibc.unlink(temporary)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let raw = unsafe open(temporary, flags, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        file = Descriptor(owning: raw)
        (self.path, self.temporary, self.replaces) = (path, temporary, replaces)
    }

    deinit { _ = unsafe Glibc.unlink(temporary) }

    private static func check(_ path: String, _ replaces: Bool) throws(FileFailure) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .wrongKind(path: path) }
        guard replaces else { throw .exists(path: path) }
    }

    package func write(_ bytes: some Sequence<UInt8>) throws(FileFailure) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private func flush() throws(FileFailure) {
        do throws(SystemError) {
            try file.writeAll(buffer)
        } catch {
            throw FileFailure(error, path: path)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Gives the file its name, durably. Write nothing after it.
    ///
    /// - Throws: `exists` if somebody made such a file meanwhile and `replaces` is false.
    package func finish() throws(FileFailure) {
        try flush()
        guard fsync(file.raw) == 0 else { throw FileFailure(.last("fsync"), path: path) }
        try Self.check(path, replaces)
        try PrivateFile.move(temporary, to: path)
    }
}
