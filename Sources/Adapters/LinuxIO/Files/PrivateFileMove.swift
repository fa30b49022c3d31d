import Glibc

extension PrivateFile {
    /// Checks kind, owner and mode of a file, without reading it.
    ///
    /// Throws `missing` if there is none.
    package static func check(
        _ path: String, strictestMode: UInt32 = 0o600, followsLinks: Bool = false
    ) throws(FileFailure) {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        let raw = unsafe open(path, followsLinks ? flags : flags | O_NOFOLLOW)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        try FileCheck.check(file.raw, path, kind: S_IFREG, strictestMode: strictestMode)
    }

    /// Renames a file within its folder, durably. After a power cut it has one name or the other.
    /// It replaces a file with the new name.
    ///
    /// Throws `missing` if there is no such file. The corresponding C function is `rename`.
    package static func move(_ path: String, to other: String) throws(FileFailure) {
        try rename(path, to: other)
        try PrivateFolder.sync(FilePath.folder(of: other))
    }
}

extension PrivateFile {
    /// Gives a file a second name in its folder, durably. Throws if that name exists, and leaves it
    /// unchanged. The corresponding C function is `link`.
    package static func link(_ path: String, as other: String) throws(FileFailure) {
        guard unsafe Glibc.link(path, other) == 0 else {
            throw FileFailure(.last("link"), path: path)
        }
        try PrivateFolder.sync(FilePath.folder(of: other))
    }
}

extension PrivateFile {
    /// Makes an empty file of mode 0600, durably, if there is none. Two processes that do so at the
    /// same time get the same file.
    package static func touch(_ path: String) throws(FileFailure) {
        let flags = O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let raw = unsafe open(path, flags, 0o600)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        try FileCheck.check(file.raw, path, kind: S_IFREG, strictestMode: 0o600)
        try PrivateFolder.sync(FilePath.folder(of: path))
    }
}

extension PrivateFile {
    /// Makes a file's content survive a power cut, even if another process wrote it. The
    /// corresponding C function is `fsync`.
    package static func sync(_ path: String) throws(FileFailure) {
        let raw = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        guard fsync(file.raw) == 0 else { throw FileFailure(.last("fsync"), path: path) }
    }
}

extension PrivateFile {
    /// Renames a file in its folder. The folder is not synced: before a sync, a power cut may leave
    /// either name. Throws `missing` if there is no such file.
    package static func rename(_ path: String, to other: String) throws(FileFailure) {
        guard unsafe Glibc.rename(path, other) == 0 else {
            throw FileFailure(.last("rename"), path: path)
        }
    }

    /// Removes a file's name. A missing file is not an error. The folder is not synced.
    package static func unlink(_ path: String) throws(FileFailure) {
        guard unsafe Glibc.unlink(path) == 0 || errno == ENOENT else {
            throw FileFailure(.last("unlink"), path: path)
        }
    }
}
