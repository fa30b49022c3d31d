import Glibc

/// A folder that nobody else may enter.
package enum PrivateFolder {
    /// Makes the folder with `mode`, and its missing parents with 0755. Checks a folder that
    /// exists. A new folder survives a power cut.
    ///
    /// Throws if the folder belongs to another user, is a link or is more open than `mode`.
    package static func prepare(_ path: String, mode: UInt32 = 0o700) throws(FileFailure) {
        try makeParents(of: path)
        try make(path, mode: mode)
        try check(path, mode: mode)
    }

    /// Checks owner and mode. Throws `missing` if there is no such folder.
    package static func check(_ path: String, mode: UInt32 = 0o700) throws(FileFailure) {
        let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw FileFailure(.last("open"), path: path) }
        let folder = Descriptor(owning: raw)
        try FileCheck.check(folder.raw, path, kind: S_IFDIR, strictestMode: mode)
    }

    /// Like `check`, but follows links and needs no read permission. The corresponding C function
    /// is `stat`.
    package static func checkTarget(_ path: String, mode: UInt32) throws(FileFailure) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            throw FileFailure(.last("stat"), path: path)
        }
        try FileCheck.check(status, path, kind: S_IFDIR, strictestMode: mode)
    }

    /// The names in a folder, in no order. The corresponding C function is `readdir`.
    package static func names(in path: String) throws(FileFailure) -> [String] {
        guard let folder = unsafe opendir(path) else {
            throw FileFailure(.last("opendir"), path: path)
        }
        defer { _ = unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Makes the present names in a folder survive a power cut.
    package static func syncNames(in path: String) throws(FileFailure) {
        do throws(SystemError) {
            try synced(path)
        } catch {
            throw FileFailure(error, path: path)
        }
    }

    /// Like `syncNames`, after a name was changed. Throws only `failed`: the name is changed, but
    /// it may not survive a power cut.
    static func sync(_ path: String) throws(FileFailure) {
        do throws(SystemError) {
            try synced(path)
        } catch {
            throw .failed(path: path, error)
        }
    }

    private static func synced(_ path: String) throws(SystemError) {
        let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw .last("open") }
        let folder = Descriptor(owning: raw)
        guard fsync(folder.raw) == 0 else { throw .last("fsync") }
    }

    private static func makeParents(of path: String) throws(FileFailure) {
        let parent = FilePath.folder(of: path)
        guard parent != "." && parent != "/" else { return }
        var status = stat()
        if unsafe stat(parent, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else { throw .wrongKind(path: parent) }
            return
        }
        guard errno == ENOENT else { throw FileFailure(.last("stat"), path: parent) }
        try makeParents(of: parent)
        try make(parent, mode: 0o755)
    }

    private static func make(_ path: String, mode: UInt32) throws(FileFailure) {
        guard unsafe mkdir(path, mode) != 0 else {
            // The umask took bits away from `mkdir`; it never adds any.
            guard unsafe chmod(path, mode) == 0 else {
                throw FileFailure(.last("chmod"), path: path)
            }
            // If the folder's own name is lost, its synced files are lost with it.
            return try sync(FilePath.folder(of: path))
        }
        guard errno == EEXIST else { throw FileFailure(.last("mkdir"), path: path) }
    }
}
