package import Sessions

/// Vault and outbox of a board, encrypted, in one SQLite file.
///
/// One thread owns it. Another process may open the same folder for a moment, to read or to
/// change a vault record, but only one may append. After a power cut at any instant the file
/// holds the state before or after the last `transact`.
package final class BoardDatabase {
    let connection: Connection
    let statements: Statements
    let wrapping: KeyWrapping
    /// What is held in memory of the file, put back when a transaction is undone.
    var keys: KeyRing
    var state: QueueState
    var writer: EpochCipher
    var reader: EpochCipher
    private var dataVersion: Int64
    /// Whether old pages still wait to be cleared, for a reader stood in the way.
    private var isClearingDue = false
    var stateIsChanged = false
    /// Reused for each row.
    var rowBuffer: [UInt8] = []
    var sealedBuffer: [UInt8] = []
    var damaged: [DamagedRecord]

    /// Opens the database in `folder`, or makes folder, key and database at the first start.
    ///
    /// Throws `unreadable` when the file is damaged beyond use, is empty, or is gone while its
    /// key is there: the caller decides whether to `setAside` and open again.
    package init(folder: String, keySource: some KeySource) throws(StoreError) {
        do throws(StoreError) {
            let files = DatabaseFiles(folder: folder)
            try files.prepare()
            let key = try files.storageKey(keySource)
            wrapping = KeyWrapping(key, source: keySource.name)
            connection = try Self.open(files.database)
            statements = try Statements(connection)
            let found = try KeyTable.loadOrReplace(connection, wrapping)
            keys = found.ring
            damaged = found.damaged.map { DamagedRecord(name: $0, sequence: nil) }
            dataVersion = try connection.number("PRAGMA data_version")
            state = QueueState()
            writer = try EpochCipher(keys.queue, for: 0)
            reader = try EpochCipher(keys.queue, for: 0)
            try loadOrRepairState()
        } catch .corrupt(let what) {
            throw .unreadable(what)
        }
        // Old pages of a rotation may still stand in the log, if power was cut after it.
        isClearingDue = true
        clearOldPages()
    }

    /// Whether there is a database in the folder, usable or not.
    package static func exists(in folder: String) -> Bool {
        (try? DatabaseFiles(folder: folder).isThere(folder + "/board.db")) ?? true
    }

    /// Renames the files of a database that is `unreadable` to `board.db.damaged-` and the
    /// time in milliseconds. The next `init` makes a new database; the storage key stays.
    package static func setAside(in folder: String, at time: Timestamp) throws(StoreError) {
        try DatabaseFiles(folder: folder).setAside(at: time)
    }

    private static func open(_ path: String) throws(StoreError) -> Connection {
        let connection = try Connection(path)
        try connection.run(Schema.settings)
        guard try connection.number("PRAGMA application_id") == Schema.application else {
            throw .unreadable("board.db is empty or no board database")
        }
        let version = Int(try connection.number("PRAGMA user_version"))
        guard version <= Schema.version else {
            throw .newerSchema(found: version, known: Schema.version)
        }
        guard version == Schema.version else { throw .unreadable("schema \(version)") }
        try connection.run("PRAGMA journal_mode=WAL")
        return connection
    }

    /// Does all changes in their order, or none.
    ///
    /// When it returns they are on disk. When it throws, nothing changed, in memory neither.
    package func transact(_ changes: [StoreChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try transaction { () throws(StoreError) in
            for change in changes { try apply(change) }
        }
        clearOldPages()
    }

    private func apply(_ change: StoreChange) throws(StoreError) {
        switch change {
        case .put(let record, let secret): try put(record, secret)
        case .destroy(let record):
            try destroy(record)
            isClearingDue = true
        case .append(let writes): try append(writes)
        case .remove(let sequences): try remove(sequences)
        case .bury(let burials): try bury(burials)
        case .destroyQueue:
            try destroyQueue()
            isClearingDue = true
        case .window(let entries): try addToWindow(entries)
        case .clearWindow: try connection.run("DELETE FROM window")
        case .counter(let name, let value):
            state.count(name, value)
            stateIsChanged = true
        case .expire, .makeRoom, .lose: break
        }
    }

    /// Runs `body` in a write transaction; undoes file and memory if it throws.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        if connection.isGone { throw .unreadable("board.db was moved or deleted") }
        try statements.begin.run()
        var before = (keys, state)
        stateIsChanged = false
        do throws(StoreError) {
            try reloadIfChangedElsewhere()
            before = (keys, state)
            try body()
            if stateIsChanged { try saveState() }
            try statements.commit.run()
        } catch {
            // After some failures SQLite has undone it already.
            if connection.isInTransaction { try? statements.rollback.run() }
            (keys, state) = before
            writer.forget()
            reader.forget()
            throw error
        }
    }

    /// Runs `body` on one unchanging view of the file.
    func snapshot<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        try statements.beginRead.run()
        defer { if connection.isInTransaction { try? statements.rollback.run() } }
        try reloadIfChangedElsewhere()
        return try body()
    }

    /// Another process may have replaced a key since.
    ///
    /// Source: sqlite.org/pragma.html#pragma_data_version.
    private func reloadIfChangedElsewhere() throws(StoreError) {
        defer { statements.dataVersion.reset() }
        guard try statements.dataVersion.step() else { return }
        let version = statements.dataVersion.int(0)
        guard version != dataVersion else { return }
        keys = try KeyTable.load(connection, wrapping)
        if let loaded = try loadState() { state = loaded }
        writer.forget()
        reader.forget()
        dataVersion = version
    }

    /// Keeps the name of a damaged record for `takeDamaged`: each once, and not without bound.
    func note(_ record: DamagedRecord) {
        guard damaged.count < 1000, !damaged.contains(record) else { return }
        damaged.append(record)
    }

    /// Clears the log, and with it the last copy of what was destroyed, or leaves it due.
    private func clearOldPages() {
        guard isClearingDue else { return }
        do throws(StoreError) {
            try connection.emptyLog()
            isClearingDue = false
        } catch {
            // A reader stands in the way: after the next transaction it is tried again.
        }
    }
}
