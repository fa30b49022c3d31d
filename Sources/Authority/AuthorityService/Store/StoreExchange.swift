import AuthorityStore
import LinuxIO

/// How a whole file of SQLite takes the place of one that nobody serves from, which is kept.
///
/// Cut short at any point there is a store: the old one, or after the last step the new one.
/// Run again, it goes on. A log of the old one must not be found beside the new one, which would
/// take it for its own; where one could not be carried into its file, because that is damaged or
/// being read, there is no store for a moment rather than one without its newest commits.
struct StoreExchange {
    enum Step: CaseIterable {
        /// Carries the old one's log into it.
        case settle
        /// Gives the old one a second name, its log too where it has one still.
        case keep
        case forgetLog
        case rename
    }

    /// The file whose place is taken; there need not be one.
    let database: String
    let incoming: String
    /// What the old one is called afterwards; a name that nothing has.
    let kept: String

    func run() throws {
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

    /// Takes away the kept names of a file that is in its place still: they are of an exchange
    /// that was cut short, and whoever opened the file by such a name would not see its log.
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
