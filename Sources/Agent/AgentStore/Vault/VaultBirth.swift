import LinuxIO
import Sessions

/// How a vault comes to be: at the first start, or again after it was lost.
///
/// The file `founding` is there while the first vault is being made. Without it, a storage key, a
/// copy or an outbox without a vault mean that the vault was lost.
struct VaultBirth {
    let folder: String
    let file: VaultFile
    private var founding: String { folder + "/founding" }

    /// Sees to it that there is a vault, or what is left of one.
    ///
    /// Of two processes at their first start one waits for the other.
    func ensure(
        _ keyFile: KeyFile, _ founder: () throws(StoreError) -> SecretBytes
    ) throws(StoreError) {
        guard !PrivateFile.isThere(file.path) else { return try end() }
        let turn: FolderTurn
        do throws(FileFailure) {
            turn = try FolderTurn(at: folder)
        } catch {
            throw StoreError(error)
        }
        if !PrivateFile.isThere(file.path) {
            let isLost = VaultCopy.isThere(in: folder) || keyFile.isThere || keyFile.isTurning
                || OutboxFolder(in: folder).isThere
            if !isLost || PrivateFile.isThere(founding) { try found(keyFile, founder) }
        }
        _ = consume turn
    }

    private func found(
        _ keyFile: KeyFile, _ founder: () throws(StoreError) -> SecretBytes
    ) throws(StoreError) {
        try onFile { () throws(FileFailure) in try PrivateFile.touch(founding) }
        var secret = try keyFile.load()
        if secret == nil { secret = try keyFile.create() }
        guard let secret else { throw .keyMissing(source: keyFile.name) }
        var content = VaultContent(queue: try .fresh(generation: 1))
        content.records[.identity] = try founder()
        try file.replace(content, StorageKey(secret, source: keyFile.name))
        try end()
    }

    private func end() throws(StoreError) {
        guard PrivateFile.isThere(founding) else { return }
        try onFile { () throws(FileFailure) in try PrivateFile.remove(founding) }
    }

    /// The storage key in force, and what it opens.
    func open(
        _ keyFile: KeyFile
    ) throws(StoreError) -> (key: StorageKey, content: VaultContent, faults: [String]) {
        var obstacle: StoreError?
        var damaged: StorageKey?
        for isNext in [false, true] {
            do throws(StoreError) {
                guard let secret = isNext ? try keyFile.loadNext() : try keyFile.load() else {
                    continue
                }
                let key = StorageKey(secret, source: keyFile.name)
                if case .content(let content) = try file.open(key) { return (key, content, []) }
                if damaged == nil, try isDamaged(key) { damaged = key }
            } catch {
                obstacle = obstacle ?? error
            }
        }
        if let damaged { return try rebuild(damaged) }
        if let obstacle { throw obstacle }
        if !keyFile.isThere { throw .keyMissing(source: keyFile.name) }
        guard PrivateFile.isThere(file.path) else {
            throw .unreadable("there is a storage key, but no vault, and no copy that opens")
        }
        throw .keyWrong(source: keyFile.name)
    }

    /// Whether this is the storage key of a vault that was lost.
    private func isDamaged(_ key: StorageKey) throws(StoreError) -> Bool {
        if try VaultCopy.read(in: folder, key) != nil { return true }
        if case .unopened(isOfThisKey: true) = try file.open(key) {
            throw .unreadable("the vault is damaged, and there is no copy that opens")
        }
        return false
    }

    /// What the vault holds, without changing anything: also while an agent has it.
    func look(_ keyFile: KeyFile) throws(StoreError) -> VaultContent {
        for isNext in [false, true] {
            let secret = isNext ? try keyFile.loadNext() : try keyFile.load()
            guard let secret else { continue }
            let key = StorageKey(secret, source: keyFile.name)
            if case .content(let content) = try file.open(key) { return content }
        }
        throw .unreadable("the vault does not open")
    }

    private func rebuild(
        _ key: StorageKey
    ) throws(StoreError) -> (key: StorageKey, content: VaultContent, faults: [String]) {
        guard let copy = try VaultCopy.read(in: folder, key) else {
            throw .unreadable("there is no copy of the vault")
        }
        let highest = try Queue.highestSequence(
            in: folder, copy.queueKey, generation: copy.generation)
        let content = copy.rebuilt(highest: highest)
        let wasThere = PrivateFile.isThere(file.path)
        try file.setAside()
        try file.replace(content, key)
        let what = wasThere ? "the vault is damaged and kept as vault.damaged"
            : "the vault is gone"
        return (key, content, ["""
            \(what): its copy is used; sequences go on behind \(content.queue.last). Look at the \
            disk
            """])
    }

    private func onFile(_ body: () throws(FileFailure) -> Void) throws(StoreError) {
        do throws(FileFailure) {
            try body()
        } catch {
            throw StoreError(error)
        }
    }
}
