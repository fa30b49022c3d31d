import LinuxIO
import Sessions

/// The files of a salvage: a database is built as `board.db.salvaging`, called
/// `board.db.salvaged` once it is whole, and takes the place of `board.db` once that is out of
/// the way.
extension DatabaseFiles {
    private var target: DatabaseFiles { DatabaseFiles(folder: folder, name: "board.db.salvaging") }
    private var finished: String { folder + "/board.db.salvaged" }

    /// Whether a whole one waits to take its place, for power was cut before it could.
    func isFinishedSalvage() throws(StoreError) -> Bool { try isThere(finished) }

    /// Carries the log into the file, so that the file alone holds everything. One that cannot
    /// be carried is set aside with the file, where the identity has a copy.
    func carryLog() throws(StoreError) {
        guard try isThere(database + "-wal") else { return }
        do throws(StoreError) {
            let connection = try Connection(database)
            try connection.emptyLog()
        } catch {
            if case .unavailable = error { throw error }
            guard !IdentityCopy.isThere(in: folder) else { return }
            throw .unreadable("its log cannot be carried into it: \(error)")
        }
    }

    /// What can be read of the file with the key in force, or with the one that power was cut
    /// in the making of; the other of the two is destroyed.
    func wreck(_ file: KeyFile) throws(StoreError) -> Wreck {
        guard file.isTurning else {
            guard let key = try file.load() else { throw .keyMissing(source: file.name) }
            return try wreck(KeyWrapping(key, source: file.name))
        }
        var obstacle: StoreError?
        for isNext in [false, true] {
            do throws(StoreError) {
                guard let key = isNext ? try file.loadNext() : try file.load() else { continue }
                let found = try wreck(KeyWrapping(key, source: file.name))
                if isNext { try file.adoptNext() } else { try file.dropNext() }
                return found
            } catch {
                obstacle = obstacle ?? error
            }
        }
        throw obstacle ?? .keyMissing(source: file.name)
    }

    private func wreck(_ wrapping: KeyWrapping) throws(StoreError) -> Wreck {
        try Wreck(database, wrapping, copy: try IdentityCopy.read(in: folder, wrapping))
    }

    /// Clears what an earlier attempt left, and says that a database is due there.
    func beginSalvage() throws(StoreError) -> DatabaseFiles {
        let target = target
        for suffix in ["", ".new"] + companions {
            try onFile { () throws(FileFailure) in
                try PrivateFile.remove(target.database + suffix)
            }
        }
        try onFile { () throws(FileFailure) in try PrivateFile.touch(target.next) }
        return target
    }

    /// Says that the new database is whole.
    func nameSalvage() throws(StoreError) {
        try onFile { () throws(FileFailure) in
            try PrivateFile.move(target.database, to: finished)
        }
    }

    func finishSalvage(at time: Timestamp) throws(StoreError) {
        if try !isFinishedSalvage() { try nameSalvage() }
        // The log first: alone, it would make a new database believe what is not its own.
        for suffix in companions + [""] {
            try moveAside(suffix, at: time)
        }
        try onFile { () throws(FileFailure) in try PrivateFile.move(finished, to: database) }
    }
}
