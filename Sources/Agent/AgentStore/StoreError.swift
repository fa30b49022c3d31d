import Cryptography
package import LinuxIO

/// Why the board's store failed, sorted by what the caller can do.
///
/// Every text is safe to log: it names files and records, never their content.
package enum StoreError: Error, Equatable, Sendable {
    /// Nothing was changed. The same call may succeed later.
    case unavailable(Obstacle)
    /// A record or a write cannot be used. The rest of the store can.
    case corrupt(String)
    /// The board's state is lost, and so is the copy of its identity. The store never treats this
    /// as a first start. Restore the state folder from a copy.
    case unreadable(String)
    /// The vault exists, but its key does not. The named source should have the key. Restore it.
    case keyMissing(source: String)
    /// The key of the named source does not belong to this vault.
    case keyWrong(source: String)
    /// The key source is not available now. A device may be missing for the moment, or this user
    /// may not open it.
    case keyUnreachable(source: String, reason: String)
    /// The key source will never return the key here. It is bound to another machine, damaged, or
    /// made by a newer program. Restore the original source.
    case keyRefused(source: String, reason: String)
    /// A newer program wrote the file. Install that program again.
    case newerForm(file: String)
    /// Other users could have read or changed the file: `chmod` it.
    case unsafePermissions(FileFailure)
    /// A write's sequence number is not above all earlier ones. This is the caller's mistake.
    /// Nothing was changed.
    case outOfOrder(sequence: Int64, last: Int64)
    /// OpenSSL failed in the named function.
    case cryptography(String)

    /// A reason why the store cannot work at the moment.
    package enum Obstacle: Equatable, Sendable {
        /// Another process has the files locked.
        case busy
        /// The disk is full, or its last space is reserved for removing writes from the queue.
        case full
        /// The file system is mounted read-only or the file may not be written.
        case readOnly
        /// A file operation failed. The kernel's view of the file may be wrong, so the store must
        /// be opened again.
        case inputOutput(String)
    }
}

extension StoreError {
    /// Whether the same call may succeed on the same open store after the obstacle is gone.
    package var mayPass: Bool {
        switch self {
        case .unavailable(.busy), .unavailable(.full), .unavailable(.readOnly): true
        default: false
        }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unavailable(.busy): "store: another process uses it"
        case .unavailable(.full): "store: the disk is full"
        case .unavailable(.readOnly): "store: the disk is read-only"
        case .unavailable(.inputOutput(let name)): "store: reading or writing failed: \(name)"
        case .corrupt(let record): "store: damaged: \(record)"
        case .unreadable(let reason): "store: the board's state is lost: \(reason)"
        case .keyMissing(let source): "store: there is a vault, but no storage key in \(source)"
        case .keyWrong(let source): "store: the key in \(source) does not open this vault"
        case .keyUnreachable(let source, let reason), .keyRefused(let source, let reason):
            "store: the storage key: \(source): \(reason)"
        case .newerForm(let file):
            "store: a newer program wrote \(file): install that version again"
        case .unsafePermissions(let failure): "store: \(failure)"
        case .outOfOrder(let sequence, let last):
            "store: sequence \(sequence) does not come after \(last)"
        case .cryptography(let function): "store: cryptography failed in \(function)"
        }
    }
}

extension StoreError {
    /// Converts a failure of a file operation into a store error.
    init(_ failure: FileFailure) {
        switch failure {
        case .tooOpen, .foreignOwner, .wrongKind: self = .unsafePermissions(failure)
        case .noSpace: self = .unavailable(.full)
        case .notPermitted, .readOnly: self = .unavailable(.readOnly)
        case .inUse: self = .unavailable(.busy)
        case .missing, .exists, .tooLarge, .failed:
            self = .unavailable(.inputOutput("\(failure)"))
        }
    }
}

extension StoreError {
    /// The reason without the source, for a list that names the source already.
    var reason: String {
        switch self {
        case .keyUnreachable(_, let reason), .keyRefused(_, let reason): reason
        default: description
        }
    }
}

extension StoreError {
    init(_ error: CryptographyError) {
        switch error {
        case .openSSL(let function): self = .cryptography(function)
        case .malformed, .notAuthentic: self = .cryptography("\(error)")
        }
    }
}
