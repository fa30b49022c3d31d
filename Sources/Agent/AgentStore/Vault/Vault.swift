import LinuxIO
import Sessions

/// The board's opened vault: its content and how it changes.
final class Vault {
    private let folder: String
    private let file: VaultFile
    private var key: StorageKey
    private(set) var content: VaultContent
    private var faults: [String] = []
    /// The bytes written since the last call of `takeWritten`.
    private var written = 0

    /// Opens the vault in `folder`. If nothing exists yet, creates folder, key and vault with the
    /// identity from `founding`. A vault always has an identity.
    ///
    /// Rebuilds a damaged or missing vault from its copy. `takeFaults` reports that. Throws
    /// `unreadable` if the copy is lost, too.
    init(
        folder: String, _ keyFile: KeyFile, founding: () throws(StoreError) -> SecretBytes
    ) throws(StoreError) {
        self.folder = folder
        file = VaultFile(in: folder)
        do throws(FileFailure) {
            try PrivateFolder.prepare(folder)
        } catch {
            throw StoreError(error)
        }
        let birth = VaultCreation(folder: folder, file: file)
        try birth.ensure(keyFile, founding)
        (key, content, faults) = try birth.open(keyFile)
        try tidy(keyFile)
    }

    /// Finishes changes that a power cut interrupted.
    private func tidy(_ keyFile: KeyFile) throws(StoreError) {
        do throws(StoreError) {
            try file.eraseOld()
            try VaultCopy.eraseOld(in: folder)
            try keepCopy()
            if keyFile.isTurning { try finishTurning(keyFile) }
        } catch {
            // Reading is still possible.
            guard case .unavailable = error else { throw error }
        }
    }

    /// Changes the content durably, or not at all. After `unavailable(.inputOutput)` the vault
    /// must be opened again, which finishes the change.
    ///
    /// `isErasing`: removed content can be read nowhere in the folder afterwards.
    func change(
        isErasing: Bool = false, _ body: (inout VaultContent) throws(StoreError) -> Void
    ) throws(StoreError) {
        var next = content
        try body(&next)
        written += try file.replace(next, key, isErasing: isErasing)
        content = next
        try finish { () throws(StoreError) in
            if isErasing {
                try file.eraseOld()
                try file.removeDamaged()
            }
            try keepCopy()
        }
    }

    /// Runs the steps after a change that is on disk. A failure here must not look as if nothing
    /// was changed.
    private func finish(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            throw error.mayPass ? .unavailable(.inputOutput("\(error)")) : error
        }
    }

    /// Makes the file name of the vault durable, because an earlier sync may have failed.
    func settle() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFolder.syncNames(in: folder)
        } catch {
            throw StoreError(error)
        }
    }

    /// Writes the copy if it differs from the content.
    private func keepCopy() throws(StoreError) {
        guard let wanted = VaultCopy(of: content) else { return }
        if let copy, copy.isSame(as: wanted) { return }
        if copy == nil, let there = try VaultCopy.read(in: folder, key), there.isSame(as: wanted) {
            return copy = there
        }
        try wanted.write(in: folder, key)
        copy = wanted
    }

    /// The copy on disk, once it is known.
    private var copy: VaultCopy?

    /// Returns the faults found since the last call.
    func takeFaults() -> [String] {
        defer { faults = [] }
        return faults
    }

    func takeWritten() -> Int {
        defer { written = 0 }
        return written
    }

    /// Throws if the vault's file was moved or deleted. Changes to it would be lost.
    func checkPlace() throws(StoreError) {
        guard PrivateFile.isThere(file.path) else {
            throw .unavailable(.inputOutput("\(file.path) was moved or deleted"))
        }
    }
}

// Changes the storage key.
extension Vault {
    /// Changes to a new storage key from the source `tier`. Without `tier`: from the best source
    /// if `isBest`, else as the first start would choose.
    ///
    /// When it returns, nothing in the folder can be opened with the old key. If it throws, the
    /// old key is in force and nothing changed. After `unavailable` the new key may be in force.
    /// Then the vault must be opened again, which finishes the change.
    func rekey(_ keyFile: KeyFile, to tier: KeyTier?, isBest: Bool) throws(StoreError) {
        try checkPlace()
        if keyFile.isTurning { try finishTurning(keyFile) }
        let next = StorageKey(
            try keyFile.createNext(tier, isBest: isBest), source: keyFile.name)
        do throws(StoreError) {
            written += try file.replace(content, next, isErasing: true)
        } catch {
            // After a failed sync either key may be in force.
            if case .unavailable(.inputOutput) = error { throw error }
            try? keyFile.dropNext()
            throw error
        }
        key = next
        try finish { () throws(StoreError) in
            try file.eraseOld()
            try finishTurning(keyFile)
        }
    }

    /// Finishes a change of the storage key. Removes everything that the unused key opens, then
    /// that key.
    private func finishTurning(_ keyFile: KeyFile) throws(StoreError) {
        guard try keyFile.isNext(key, file) else { return try keyFile.dropNext() }
        try file.removeDamaged()
        copy = nil
        try VaultCopy(of: content)?.write(in: folder, key)
        try keyFile.adoptNext()
    }
}
