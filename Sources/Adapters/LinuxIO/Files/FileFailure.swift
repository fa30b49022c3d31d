import Glibc

/// Why a private file or folder could not be read or written, sorted by the remedy.
package enum FileFailure: Error, Equatable, Sendable {
    /// There is no such file: make it, or use the default.
    case missing(path: String)
    /// There is such a file already: choose another name, or replace it.
    case exists(path: String)
    /// Other users may read or change it: `chmod` it.
    case tooOpen(path: String, mode: UInt32, strictest: UInt32)
    /// It belongs to another user: `chown` it.
    case foreignOwner(path: String, user: UInt32)
    /// A link, folder or socket in a file's place, or a file in a folder's place: remove it.
    case wrongKind(path: String)
    /// It is larger than such a file ever is.
    case tooLarge(path: String, limit: Int)
    /// This process has no permission: run it as another user.
    case notPermitted(path: String)
    /// The file system is read-only at present: look at the disk.
    case readOnly(path: String)
    /// The disk is full: make room.
    case noSpace(path: String)
    /// Another process is using it: stop that process.
    case inUse(path: String)
    /// Any other system error.
    case failed(path: String, SystemError)

    /// Sorts the error of a system call on `path`.
    init(_ error: SystemError, path: String) {
        switch error.code {
        case ENOENT: self = .missing(path: path)
        case ELOOP, ENOTDIR, EISDIR, ENXIO: self = .wrongKind(path: path)
        case EACCES, EPERM: self = .notPermitted(path: path)
        case EROFS: self = .readOnly(path: path)
        case ENOSPC, EDQUOT: self = .noSpace(path: path)
        default: self = .failed(path: path, error)
        }
    }
}

extension FileFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing(let path): "\(path): there is no such file"
        case .exists(let path): "\(path): there is such a file already"
        case .tooOpen(let path, let mode, let strictest):
            "\(path): mode \(Self.octal(mode)) is too open; chmod \(Self.octal(strictest)) it"
        case .foreignOwner(let path, let user):
            "\(path): belongs to user \(user), not to this one or root; chown it"
        case .wrongKind(let path): "\(path): a link, or the wrong kind of file"
        case .tooLarge(let path, let limit): "\(path): larger than \(limit) bytes"
        case .notPermitted(let path): "\(path): this user may not open or change it"
        case .readOnly(let path): "\(path): the file system is read-only"
        case .noSpace(let path): "\(path): the disk is full"
        case .inUse(let path): "\(path): another process is using it"
        case .failed(let path, let error): "\(path): \(error)"
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
