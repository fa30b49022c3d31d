import LinuxIO
import Sessions

/// A new storage key in the place of the old one, whole or not at all wherever power is cut.
///
/// The new one stands as `storage.key.next` before the database goes over to it in one
/// transaction; then the old one is overwritten and the new one takes its name. Whichever of
/// the two fits the database is the one in force.
extension KeyFile {
    /// Whether a change was begun and not finished.
    var isTurning: Bool { PrivateFile.isThere(next) }

    /// The key in force of a database that is open, and whether it is the next one.
    ///
    /// Throws why the one in force cannot be had.
    func settle(_ connection: Connection) throws(StoreError) -> (key: SecretBytes, isNext: Bool) {
        var obstacle: StoreError?
        for isNext in [false, true] {
            do throws(StoreError) {
                guard let key = isNext ? try loadNext() : try load() else { continue }
                let wrapping = KeyWrapping(key, source: name)
                if try KeyTable.fits(connection, wrapping) { return (key, isNext) }
            } catch {
                obstacle = obstacle ?? error
            }
        }
        throw obstacle ?? .keyWrong(source: name)
    }

    /// Destroys the old key and gives the next one its name.
    func adoptNext() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFile.erase(name)
            try PrivateFile.move(next, to: name)
        } catch {
            throw StoreError(error)
        }
    }

    /// Destroys the next one, which the database never went over to.
    func dropNext() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFile.erase(next)
            try PrivateFile.remove(next)
        } catch {
            throw StoreError(error)
        }
    }
}

extension BoardDatabase {
    /// Goes over to a new storage key, kept by `tier`, or by the best that there is, or else as
    /// the first start would choose.
    ///
    /// The keys of identity and vault are replaced with it; the queue's stays, under the new
    /// one. Databases that were set aside as damaged are removed, for the old key opens them.
    /// When it returns, nothing in the folder opens with the old key. When it throws, the old
    /// one is in force and nothing changed; but after `unavailable` it may be the new one, so
    /// the database is to be opened anew, which finishes what was begun.
    package func rekey(
        _ file: KeyFile, to tier: KeyTier?, isBest: Bool = false
    ) throws(StoreError) {
        try checkPlace()
        if file.isTurning { try finishTurning(file) }
        let copy = try identityCopy()
        let key = try file.createNext(tier, isBest: isBest)
        let old = wrapping
        do throws(StoreError) {
            try transaction { () throws(StoreError) in
                wrapping = KeyWrapping(key, source: file.name)
                try overwriting { () throws(StoreError) in
                    try renewKey(.identity)
                    try renewKey(.vault)
                    try KeyTable.replace(connection, keys.queue, for: .queue, wrapping)
                    try KeyTable.replaceFingerprint(connection, wrapping)
                }
            }
        } catch {
            wrapping = old
            // After a failed sync it is not known which one is in force.
            if case .unavailable(.inputOutput) = error { throw error }
            try? file.dropNext()
            throw error
        }
        if let copy { try keep(copy) }
        try finishTurning(file)
    }

    /// Leaves nothing that opens with the key that is not in force, and then not that key.
    func finishTurning(_ file: KeyFile) throws(StoreError) {
        guard try file.settle(connection).isNext else { return try file.dropNext() }
        try files.removeDamaged()
        isClearingDue = true
        clearOldPages()
        try file.adoptNext()
    }
}
