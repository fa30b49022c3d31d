import LinuxIO
import Sessions

/// The board's vault, opened: what it holds, and how that changes.
final class Vault {
    private let folder: String
    private let file: VaultFile
    private var key: StorageKey
    private(set) var content: VaultContent
    private var faults: [String] = []
    /// Bytes that were written since the last call of `takeWritten`.
    private var written = 0

    /// Opens the vault in `folder`. Where there is nothing yet it makes folder, key and vault, with
    /// what `founding` makes: a vault always has an identity.
    ///
    /// A vault that is damaged or gone is made again from its copy; `takeFaults` says so.
    /// Throws `unreadable` where the copy is lost, too.
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
        let birth = VaultBirth(folder: folder, file: file)
        try birth.ensure(keyFile, founding)
        (key, content, faults) = try birth.open(keyFile)
        try tidy(keyFile)
    }

    /// Finishes what a power cut has interrupted.
    private func tidy(_ keyFile: KeyFile) throws(StoreError) {
        do throws(StoreError) {
            try file.eraseOld()
            try VaultCopy.eraseOld(in: folder)
            try keepCopy()
            if keyFile.isTurning { try finishTurning(keyFile) }
        } catch {
            // Reading is possible all the same.
            guard case .unavailable = error else { throw error }
        }
    }

    /// Changes the content, durably, or not at all; but after `unavailable(.inputOutput)` the
    /// vault is to be opened again, which finishes what was begun.
    ///
    /// `isErasing`: what the change takes away can be read nowhere in the folder afterwards.
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

    /// What follows a change that is on the disk. Where it fails nobody may believe that nothing
    /// was changed.
    private func finish(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            throw error.mayPass ? .unavailable(.inputOutput("\(error)")) : error
        }
    }

    /// Makes the name of the vault that was read durable: its sync may have failed before.
    func settle() throws(StoreError) {
        do throws(FileFailure) {
            try PrivateFolder.syncNames(in: folder)
        } catch {
            throw StoreError(error)
        }
    }

    /// Sees to it that the copy says what is so.
    private func keepCopy() throws(StoreError) {
        guard let wanted = VaultCopy(of: content) else { return }
        if let copy, copy.isSame(as: wanted) { return }
        if copy == nil, let there = try VaultCopy.read(in: folder, key), there.isSame(as: wanted) {
            return copy = there
        }
        try wanted.write(in: folder, key)
        copy = wanted
    }

    /// The copy as it is on the disk, once that is known.
    private var copy: VaultCopy?

    /// What was found wrong since the last call.
    func takeFaults() -> [String] {
        defer { faults = [] }
        return faults
    }

    func takeWritten() -> Int {
        defer { written = 0 }
        return written
    }

    /// Whether the file is there. A vault that lost its name would be written to no avail.
    func checkPlace() throws(StoreError) {
        guard PrivateFile.isThere(file.path) else {
            throw .unavailable(.inputOutput("\(file.path) was moved or deleted"))
        }
    }
}

// Another storage key.
extension Vault {
    /// Goes over to a new storage key, kept by `tier`, or by the best that there is, or else as
    /// the first start would choose.
    ///
    /// When it returns, nothing in the folder opens with the old key. When it throws, the old one
    /// is in force and nothing changed; but after `unavailable` it may be the new one, so the
    /// vault is to be opened again, which finishes what was begun.
    func rekey(_ keyFile: KeyFile, to tier: KeyTier?, isBest: Bool) throws(StoreError) {
        try checkPlace()
        if keyFile.isTurning { try finishTurning(keyFile) }
        let next = StorageKey(
            try keyFile.createNext(tier, isBest: isBest), source: keyFile.name)
        do throws(StoreError) {
            written += try file.replace(content, next, isErasing: true)
        } catch {
            // After a failed sync it is not known which one is in force.
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

    /// Leaves nothing that opens with the key that is not in force, and then not that key.
    private func finishTurning(_ keyFile: KeyFile) throws(StoreError) {
        guard try keyFile.isNext(key, file) else { return try keyFile.dropNext() }
        try file.removeDamaged()
        copy = nil
        try VaultCopy(of: content)?.write(in: folder, key)
        try keyFile.adoptNext()
    }
}
