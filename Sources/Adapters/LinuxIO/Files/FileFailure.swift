import Glibc

/// Why a private file or folder was not read or written, sorted by what helps.
package enum FileFailure: Error, Equatable, Sendable {
    /// There is none: make it, or take what stands for its absence.
    case missing(path: String)
    /// Others may read or change it: `chmod` it.
    case tooOpen(path: String, mode: UInt32, strictest: UInt32)
    /// It belongs to another user: `chown` it.
    case foreignOwner(path: String, user: UInt32)
    /// A link, a folder, a socket where a file should be, or the reverse: remove it.
    case wrongKind(path: String)
    /// It is bigger than such a file ever is.
    case tooLarge(path: String, limit: Int)
    /// This process may not: run it as another user.
    case notPermitted(path: String)
    /// The file system is read-only, now at least: look at the disk.
    case readOnly(path: String)
    /// The disk is full: make room.
    case noSpace(path: String)
    /// Another process holds it: stop that one.
    case inUse(path: String)
    /// What the system said otherwise.
    case failed(path: String, SystemError)

    /// Sorts what a system call said about `path`.
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
        case .tooOpen(let path, let mode, let strictest):
            "\(path): mode \(Self.octal(mode)) is too open; chmod \(Self.octal(strictest)) it"
        case .foreignOwner(let path, let user):
            "\(path): belongs to user \(user), neither this one nor root; chown it"
        case .wrongKind(let path): "\(path): a link, or not the kind of file that belongs there"
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
