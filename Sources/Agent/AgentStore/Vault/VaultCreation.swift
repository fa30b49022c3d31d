import LinuxIO
import Sessions

/// Creates a vault at the first start, or again after it was lost.
///
/// The file `founding` exists while the first vault is created. Without `founding`, a storage
/// key, a copy or an outbox without a vault means that the vault was lost.
struct VaultCreation {
    let folder: String
    let file: VaultFile
    private var founding: String { folder + "/founding" }

    /// Creates a vault if there is none and none was lost. Also finishes an interrupted first
    /// start.
    ///
    /// If two processes start for the first time, one waits for the other.
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

    /// Returns the storage key in force and the content that it opens.
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

    /// Whether this is the storage key of a lost vault.
    private func isDamaged(_ key: StorageKey) throws(StoreError) -> Bool {
        if try VaultCopy.read(in: folder, key) != nil { return true }
        if case .unopened(isOfThisKey: true) = try file.open(key) {
            throw .unreadable("the vault is damaged, and there is no copy that opens")
        }
        return false
    }

    /// Returns the vault's content without changing anything. It may run while an agent uses the
    /// vault.
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
            \(what): its copy is used; sequences go on after \(content.queue.last). Check the \
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
