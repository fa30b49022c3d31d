import Glibc

/// Reads and writes files that hold secrets or decide rights. A file is read only if no other user
/// could have changed it. A power cut during a write leaves the old content or the new.
package enum PrivateFile {
    /// Reads a whole file.
    ///
    /// It checks the opened file (`fstat`), not the name. It throws without reading in these cases:
    /// the mode has a bit that `strictestMode` lacks; the owner is neither this user nor root; it
    /// is a link and `followsLinks` is false. It also throws for more than `limit` bytes.
    package static func read(
        _ path: String, limit: Int, strictestMode: UInt32 = 0o600, followsLinks: Bool = false
    ) throws(FileFailure) -> [UInt8] {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        let raw = unsafe open(path, followsLinks ? flags : flags | O_NOFOLLOW)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let file = Descriptor(owning: raw)
        try FileCheck.check(file.raw, path, kind: S_IFREG, strictestMode: strictestMode)
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try file.readAll(limit: limit)
        } catch {
            throw FileFailure(error, path: path)
        }
        guard let bytes else { throw .tooLarge(path: path, limit: limit) }
        return bytes
    }

    /// Whether this name exists. The corresponding C function is `lstat`.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Whether both are names of one file. Links are not followed.
    package static func isSame(_ path: String, as other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return unsafe lstat(path, &first) == 0 && lstat(other, &second) == 0
            && first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Replaces a file's content, durably.
    ///
    /// It writes and syncs a new file beside the old one, renames it over the old one and syncs the
    /// folder. After an error the old content is still there; after `failed` it may be the new one.
    /// The file gets `mode`, whatever the umask is, and the given group and user. Only root may
    /// give it to another user.
    package static func write(
        _ path: String, _ bytes: [UInt8], mode: UInt32 = 0o600, group: UInt32? = nil,
        user: UInt32? = nil
    ) throws(FileFailure) {
        let temporary = "\(path).\(getpid()).new"
        _ = unsafe Glibc.unlink(temporary)
        do throws(SystemError) {
            try create(temporary, bytes, mode: mode, group: group, user: user)
            guard unsafe Glibc.rename(temporary, path) == 0 else { throw .last("rename") }
        } catch {
            _ = unsafe Glibc.unlink(temporary)
            throw FileFailure(error, path: path)
        }
        try PrivateFolder.sync(FilePath.folder(of: path))
    }

    /// Removes a file and syncs its folder. A missing file is not an error.
    package static func remove(_ path: String) throws(FileFailure) {
        if unsafe Glibc.unlink(path) != 0 {
            if errno == ENOENT { return }
            throw FileFailure(.last("unlink"), path: path)
        }
        try PrivateFolder.sync(FilePath.folder(of: path))
    }

    private static func create(
        _ path: String, _ bytes: [UInt8], mode: UInt32, group: UInt32?, user: UInt32?
    ) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let raw = unsafe open(path, flags, 0o600)
        guard raw >= 0 else { throw .last("open") }
        let file = Descriptor(owning: raw)
        if group != nil || user != nil {
            guard fchown(file.raw, user ?? uid_t.max, group ?? gid_t.max) == 0 else {
                throw .last("fchown")
            }
        }
        guard fchmod(file.raw, mode) == 0 else { throw .last("fchmod") }
        try file.writeAll(bytes)
        guard fsync(file.raw) == 0 else { throw .last("fsync") }
    }
}

/// Checks a file before it is trusted.
enum FileCheck {
    /// Checks kind, owner and mode of an open descriptor.
    static func check(
        _ descriptor: Int32, _ path: String, kind: mode_t, strictestMode: UInt32
    ) throws(FileFailure) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw FileFailure(.last("fstat"), path: path)
        }
        try check(status, path, kind: kind, strictestMode: strictestMode)
    }

    static func check(
        _ status: stat, _ path: String, kind: mode_t, strictestMode: UInt32
    ) throws(FileFailure) {
        guard status.st_mode & S_IFMT == kind else { throw .wrongKind(path: path) }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw .foreignOwner(path: path, user: status.st_uid)
        }
        let mode = status.st_mode & 0o7777
        guard mode & 0o777 & ~strictestMode == 0 else {
            throw .tooOpen(path: path, mode: mode & 0o777, strictest: strictestMode)
        }
    }
}

/// Splits paths.
enum FilePath {
    /// The folder that holds `path`; "." for a bare name.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        let folder = String(path[..<slash])
        return folder.isEmpty ? "/" : folder
    }
}
