import CLinux
import Glibc

/// A Unix socket on which a service answers local tools.
///
/// The socket file is removed when its owner is freed. The corresponding C functions are `bind`,
/// `listen` and `accept4`.
package struct ControlSocket: ~Copyable {
    private let handle: Descriptor
    private let path: String

    /// Listens at `path`, with `mode` on the socket file.
    ///
    /// It replaces this user's socket file if no process answers behind it. If a process answers,
    /// it throws `inUse`. It leaves another user's file alone and throws `foreignOwner`, even as
    /// root. Any other kind of file throws `wrongKind`.
    package init(path: String, mode: UInt32 = 0o660) throws(FileFailure) {
        guard let address = UnixAddress(path) else { throw .wrongKind(path: path) }
        try Self.clear(path)
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let raw = socket(AF_UNIX, type, 0)
        guard raw >= 0 else { throw FileFailure(.last("socket"), path: path) }
        let handle = Descriptor(owning: raw)
        guard unsafe address.withPointer({ unsafe bind(raw, $0, $1) }) == 0 else {
            throw FileFailure(.last("bind"), path: path)
        }
        guard unsafe chmod(path, mode) == 0, listen(raw, 16) == 0 else {
            throw FileFailure(.last("listen"), path: path)
        }
        self.handle = handle
        self.path = path
    }

    deinit { _ = unsafe unlink(path) }

    /// Poll it for reading.
    package var descriptor: Int32 { handle.raw }

    /// Accepts the next client, or returns `nil`. Never blocks.
    package func accept() throws(SystemError) -> ControlConnection? {
        while true {
            let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let raw = accept4(handle.raw, nil, nil, flags)
            if raw >= 0 { return try ControlConnection(Descriptor(owning: raw)) }
            if errno == EAGAIN { return nil }
            if errno != EINTR && errno != ECONNABORTED { throw .last("accept") }
        }
    }

    /// Like `accept`, for clients that do not send lines.
    package func acceptStream() throws(SystemError) -> StreamConnection? {
        try StreamConnection.accept(from: handle.raw)
    }

    /// Removes an unused socket file at `path`. Throws as `init` does.
    package static func clear(_ path: String) throws(FileFailure) {
        guard let address = UnixAddress(path) else { throw .wrongKind(path: path) }
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw FileFailure(.last("lstat"), path: path)
        }
        guard status.st_uid == geteuid() else {
            throw .foreignOwner(path: path, user: status.st_uid)
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .wrongKind(path: path) }
        do throws(SystemError) {
            _ = try address.connect(flags: Int32(SOCK_NONBLOCK.rawValue))
        } catch {
            guard error.code == ECONNREFUSED else {
                throw error.code == EAGAIN
                    ? .inUse(path: path) : FileFailure(error, path: path)
            }
            guard unsafe unlink(path) == 0 else {
                throw FileFailure(.last("unlink"), path: path)
            }
            return
        }
        throw .inUse(path: path)
    }
}
