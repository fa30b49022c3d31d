import AuthorityStore
import LinuxIO

/// Replaces a SQLite database file that nobody serves from, and keeps the old file.
///
/// If it is interrupted at any point, there is still a store: the old one, or after the last step
/// the new one. Run it again to continue.
///
/// The old file's log must not be left beside the new file, because SQLite would apply it to the
/// new file. The log may not be mergeable into the old file, because that is damaged or in use.
/// Then there is no store for a moment, rather than a store without its newest commits.
package struct StoreExchange {
    enum Step: CaseIterable {
        /// Merges the old file's log into it.
        case settle
        /// Gives the old file a second name, and also its log if there still is one.
        case keep
        case forgetLog
        case rename
    }

    /// The file to replace; it need not exist.
    let database: String
    let incoming: String
    /// The old file's new name; no file may have it.
    let kept: String

    package init(database: String, incoming: String, kept: String) {
        (self.database, self.incoming, self.kept) = (database, incoming, kept)
    }

    package func run() throws {
        try Self.forgetSecondNames(of: database)
        for step in Step.allCases { try run(step) }
    }

    func run(_ step: Step) throws {
        switch step {
        case .settle:
            if PrivateFile.isThere(database) { try? StoreFile(path: database).settle() }
        case .keep:
            guard PrivateFile.isThere(database) else { return }
            try PrivateFile.link(database, as: kept)
            guard try hasLog() else { return }
            try PrivateFile.link("\(database)-wal", as: "\(kept)-wal")
            try PrivateFile.remove(database)
        case .forgetLog:
            for name in ["\(database)-wal", "\(database)-shm"] { try PrivateFile.remove(name) }
        case .rename:
            try PrivateFile.move(incoming, to: database)
        }
    }

    /// Removes second names of a file that is still in place. An interrupted exchange left them. A
    /// program that opened the file by such a name would not see its log.
    static func forgetSecondNames(of database: String) throws(FileFailure) {
        let parts = database.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.dropLast().joined(separator: "/")
        for name in try PrivateFolder.names(in: folder.isEmpty ? "/" : folder)
        where name.hasPrefix("\(parts.last ?? "").before-") {
            let kept = "\(folder)/\(name)"
            for living in [database, "\(database)-wal"]
            where PrivateFile.isSame(kept, as: living) {
                try PrivateFile.remove(kept)
            }
        }
    }

    private func hasLog() throws(FileFailure) -> Bool {
        do throws(FileFailure) {
            _ = try PrivateFile.read("\(database)-wal", limit: 0, strictestMode: 0o777)
            return false
        } catch {
            switch error {
            case .missing: return false
            case .tooLarge: return true
            default: throw error
            }
        }
    }
}
