package import LinuxIO

/// Why the board's store did not do as asked, sorted by what the caller can do.
///
/// Every text is safe to log: it names files, records and SQLite's own codes, never content.
package enum StoreError: Error, Equatable, Sendable {
    /// Nothing was changed; the same call may succeed later.
    case unavailable(Obstacle)
    /// This record or page is damaged; the rest of the store is usable.
    case corrupt(String)
    /// The file cannot be used as a board database at all. Call `BoardDatabase.setAside`, then
    /// open again: that makes a new, empty one. Never taken for a first boot.
    case unreadable(String)
    /// There is a database but not the key it was made with, which the named source should
    /// have. Restore the key.
    case keyMissing(source: String)
    /// The key of the named source is not the one that this database was made with.
    case keyWrong(source: String)
    /// What keeps the storage key does not give it now: there may be a device that is not
    /// there yet, or that this user may not open.
    case keyUnreachable(source: String, reason: String)
    /// What keeps the storage key will never give it here: it is bound to another machine,
    /// damaged, or of a newer program. Bring back what it was made with.
    case keyRefused(source: String, reason: String)
    /// A newer program wrote the file. Install that program again.
    case newerSchema(found: Int, known: Int)
    /// Others could have read or changed it: `chmod` it.
    case unsafePermissions(FileFailure)
    /// A write's sequence number does not rise above all before it. The caller's mistake;
    /// nothing was changed.
    case outOfOrder(sequence: Int64, last: Int64)
    /// OpenSSL failed in the named function.
    case cryptography(String)

    /// What stands in the way for now.
    package enum Obstacle: Equatable, Sendable {
        /// Another process held the database for longer than the patience for it.
        case busy
        /// The disk, or the room given to the database, is full.
        case full
        /// The file system is mounted read-only or the file may not be written.
        case readOnly
        /// A file operation failed; SQLite's name for it, such as `SQLITE_IOERR_FSYNC`.
        case inputOutput(String)
        case noMemory
    }
}

extension StoreError {
    /// Whether the same may succeed on the same open database once the obstacle is gone.
    ///
    /// Not after a failed read or write: what the kernel then holds of the file is not to be
    /// trusted, so it is opened anew.
    package var mayPass: Bool {
        switch self {
        case .unavailable(.busy), .unavailable(.full), .unavailable(.readOnly),
            .unavailable(.noMemory): true
        default: false
        }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unavailable(.busy): "store: another process holds the database"
        case .unavailable(.full): "store: the disk is full"
        case .unavailable(.readOnly): "store: the database may not be written"
        case .unavailable(.inputOutput(let name)): "store: reading or writing failed: \(name)"
        case .unavailable(.noMemory): "store: out of memory"
        case .corrupt(let record): "store: damaged: \(record)"
        case .unreadable(let reason): "store: the database cannot be used: \(reason)"
        case .keyMissing(let source): "store: no storage key in \(source), but a database"
        case .keyWrong(let source): "store: the key in \(source) does not open this database"
        case .keyUnreachable(let source, let reason), .keyRefused(let source, let reason):
            "store: the storage key: \(source): \(reason)"
        case .newerSchema(let found, let known):
            """
            store: a newer program wrote board.db: it has schema \(found), this program knows \
            \(known); install the newer one again
            """
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

    /// Whether a sync failed: the store opens the file anew at the next call.
    var isOfSync: Bool {
        guard case .unavailable(.inputOutput(let name)) = self else { return false }
        return name.hasSuffix("FSYNC")
    }
}
