import Cryptography
package import LinuxIO

/// Why the board's store did not do as asked, sorted by what the caller can do.
///
/// Every text is safe to log: it names files and records, never content.
package enum StoreError: Error, Equatable, Sendable {
    /// Nothing was changed; the same call may succeed later.
    case unavailable(Obstacle)
    /// A record or a write cannot be used; the rest of the store can.
    case corrupt(String)
    /// The board's state is lost, and so is the copy of its identity. Never taken for a first
    /// start: bring the state folder back from a copy.
    case unreadable(String)
    /// There is a vault but not the key it was made with, which the named source should have.
    /// Restore the key.
    case keyMissing(source: String)
    /// The key of the named source is not the one that this vault was made with.
    case keyWrong(source: String)
    /// What keeps the storage key does not give it now: there may be a device that is not
    /// there yet, or that this user may not open.
    case keyUnreachable(source: String, reason: String)
    /// What keeps the storage key will never give it here: it is bound to another machine,
    /// damaged, or of a newer program. Bring back what it was made with.
    case keyRefused(source: String, reason: String)
    /// A newer program wrote the file. Install that program again.
    case newerForm(file: String)
    /// Others could have read or changed it: `chmod` it.
    case unsafePermissions(FileFailure)
    /// A write's sequence number does not rise above all before it. The caller's mistake;
    /// nothing was changed.
    case outOfOrder(sequence: Int64, last: Int64)
    /// OpenSSL failed in the named function.
    case cryptography(String)

    /// The obstacle, for now.
    package enum Obstacle: Equatable, Sendable {
        /// Another process holds the files.
        case busy
        /// The disk is full, or what is left of it is needed to take things out of the queue.
        case full
        /// The file system is mounted read-only or the file may not be written.
        case readOnly
        /// A file operation failed. What the kernel holds of the file then is not to be trusted:
        /// the store is to be opened again.
        case inputOutput(String)
    }
}

extension StoreError {
    /// Whether the same may succeed on the same open store once the obstacle is gone.
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
        case .unavailable(.busy): "store: another process holds it"
        case .unavailable(.full): "store: the disk is full"
        case .unavailable(.readOnly): "store: the disk may not be written"
        case .unavailable(.inputOutput(let name)): "store: reading or writing failed: \(name)"
        case .corrupt(let record): "store: damaged: \(record)"
        case .unreadable(let reason): "store: the board's state is lost: \(reason)"
        case .keyMissing(let source): "store: no storage key in \(source), but a vault"
        case .keyWrong(let source): "store: the key in \(source) does not open this vault"
        case .keyUnreachable(let source, let reason), .keyRefused(let source, let reason):
            "store: the storage key: \(source): \(reason)"
        case .newerForm(let file):
            "store: a newer program wrote \(file): install that one again"
        case .unsafePermissions(let failure): "store: \(failure)"
        case .outOfOrder(let sequence, let last):
            "store: sequence \(sequence) does not come after \(last)"
        case .cryptography(let function): "store: cryptography failed in \(function)"
        }
    }
}

extension StoreError {
    /// What a failure on the file's own level means for the store.
    init(_ failure: FileFailure) {
        switch failure {
        case .tooOpen, .foreignOwner, .wrongKind: self = .unsafePermissions(failure)
        case .noSpace: self = .unavailable(.full)
        case .notPermitted, .readOnly: self = .unavailable(.readOnly)
        case .inUse: self = .unavailable(.busy)
        case .missing, .tooLarge, .failed: self = .unavailable(.inputOutput("\(failure)"))
        }
    }
}

extension StoreError {
    /// For a list in which the source is named already.
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
