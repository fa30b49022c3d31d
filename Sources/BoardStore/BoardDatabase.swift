import LinuxIO
package import Sessions

/// Vault and outbox of a board, encrypted, in one SQLite file.
///
/// One thread owns it. Another process may open the same folder for a moment, to read or to
/// change a vault record, but only one may append. After a power cut at any instant the file
/// holds the state before or after the last `transact`.
package final class BoardDatabase {
    private(set) var connection: Connection
    private(set) var statements: Statements
    let files: DatabaseFiles
    var wrapping: KeyWrapping
    /// What is held in memory of the file, put back when a transaction is undone.
    var keys: KeyRing
    var state = QueueState()
    var ledger = QueueLedger()
    var memory = QueueMemory()
    var writer: EpochCipher
    var reader: EpochCipher
    private var dataVersion: Int64
    /// Whether old pages still wait to be cleared, for a reader stood in the way.
    var isClearingDue = false
    /// Set when a sync failed: what the file's pages in memory hold may not be on the disk.
    private var isSuspect = false
    /// Room that only what leaves the queue, and the session's records, may take; on a small
    /// file system an eighth of it.
    private static let lastRoom: Int64 = 8 << 20
    var stateIsChanged = false
    var ledgerIsChanged = false
    /// The highest key of the redelivery window; nil when it is not known.
    var windowEnd: Int64?
    /// Reused for each row.
    var rowBuffer: [UInt8] = []
    var sealedBuffer: [UInt8] = []
    var placeBuffer: [UInt8] = []
    /// The row that was read or appended last, opened.
    var open: BatchReader?
    var damaged: [DamagedRecord]

    /// Opens the database in `folder`, or makes folder, key and database at the first start.
    ///
    /// Throws `unreadable` when the file is damaged beyond use, is empty, or is gone while its
    /// key is there: the caller decides whether to `salvage`, or to `setAside` and open again.
    ///
    /// `founding` makes the identity that a new database has from its first instant: one without
    /// an identity is then always a damaged one.
    package convenience init(
        folder: String, keySource: KeyFile,
        founding: (() throws(StoreError) -> SecretBytes)? = nil
    ) throws(StoreError) {
        try self.init(DatabaseFiles(folder: folder), keySource, founding)
    }

    init(
        _ files: DatabaseFiles, _ keySource: KeyFile,
        _ founding: (() throws(StoreError) -> SecretBytes)? = nil
    ) throws(StoreError) {
        let isTurning: Bool
        do throws(StoreError) {
            self.files = files
            try files.prepare()
            try files.found(keySource, founding)
            isTurning = keySource.isTurning
            var key = isTurning ? nil : try keySource.load()
            guard isTurning || key != nil else { throw .keyMissing(source: keySource.name) }
            connection = try Self.open(files.database)
            if isTurning { key = try keySource.settle(connection).key }
            guard let key else { throw .keyMissing(source: keySource.name) }
            wrapping = KeyWrapping(key, source: keySource.name)
            statements = try Statements(connection)
            let isOld = connection.isInTransaction
            let found = isOld
                ? (ring: try KeyTable.load(connection, wrapping), damaged: [])
                : try KeyTable.loadOrReplace(connection, wrapping)
            keys = found.ring
            damaged = found.damaged.map { DamagedRecord(name: $0, sequence: nil) }
            dataVersion = try connection.number("PRAGMA data_version")
            writer = try EpochCipher(keys.queue, for: 0)
            reader = try EpochCipher(keys.queue, for: 0)
            if isOld { try bringUp() } else { try loadOrRepairState() }
        } catch .corrupt(let what) {
            throw .unreadable(what)
        }
        // Old pages of a rotation may still stand in the log, if power was cut after it.
        isClearingDue = true
        clearOldPages()
        if isTurning { try finishTurning(keySource) }
    }

    /// Whether there is a database in the folder, usable or not, or what is left of one.
    package static func exists(in folder: String) -> Bool {
        if PrivateFile.isThere(folder + "/storage.key") || IdentityCopy.isThere(in: folder) {
            return true
        }
        return (try? DatabaseFiles(folder: folder).isThere(folder + "/board.db")) ?? true
    }

    /// Renames the files of a database that is `unreadable` to `board.db.damaged-` and the
    /// time in milliseconds. The next `init` makes a new database; the storage key stays.
    package static func setAside(in folder: String, at time: Timestamp) throws(StoreError) {
        try DatabaseFiles(folder: folder).setAside(at: time)
    }

    /// Opens the file; a transaction is open afterwards if it is to be brought up.
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
        guard version >= 1 else { throw .unreadable("schema \(version)") }
        try connection.run("PRAGMA journal_mode=WAL")
        if version == 1 { try beginBringingUp(connection) }
        connection.watchLog()
        return connection
    }

    /// Does all changes in their order, or none.
    ///
    /// When it returns they are on disk, but for a transaction of removals alone (see
    /// `StoreChange.remove`). When it throws, nothing changed, in memory neither; but after
    /// `unavailable(.inputOutput)` of a sync the next call opens the file anew, which may show
    /// the change after all: what is known of the database is to be asked for again then.
    package func transact(_ changes: [StoreChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        let isOnlyRemoval = changes.allSatisfy { change in
            if case .remove = change { true } else { false }
        }
        if changes.contains(where: \.adds) { try refuseLastRoom() }
        try transaction(isSynced: !isOnlyRemoval) { () throws(StoreError) in
            for change in changes { try apply(change) }
        }
        clearOldPages()
    }

    /// Throws `unavailable(.full)` where what is left of the disk is needed to take things out of
    /// the queue again: without it an outbox that has filled its own disk could never drain.
    private func refuseLastRoom() throws(StoreError) {
        guard let space = FileSystemSpace(at: files.folder) else { return }
        guard space.available >= min(Self.lastRoom, space.total / 8) else {
            throw .unavailable(.full)
        }
    }

    private func apply(_ change: StoreChange) throws(StoreError) {
        switch change {
        case .put(let record, let secret):
            try overwriting { () throws(StoreError) in try put(record, secret) }
        case .destroy(let record):
            try overwriting { () throws(StoreError) in try destroy(record) }
            isClearingDue = true
        case .append(let writes): try append(writes)
        case .remove(let sequences): try remove(sequences)
        case .bury(let burials): try bury(burials)
        case .expire(let start, let end, let spared): try expire(start, end, sparing: spared)
        case .makeRoom(let bytes, let keep): try makeRoom(bytes, keep)
        case .lose(let range, let cause): lose(range, cause)
        case .destroyQueue:
            // First: what it must not leave readable, it does not, whenever the power fails.
            try files.removeDamaged()
            try destroyQueue()
            isClearingDue = true
        case .window(let entries): try addToWindow(entries)
        case .clearWindow:
            try connection.run("DELETE FROM window")
            windowEnd = nil
        case .counter(let name, let value):
            ledger.count(name, value)
            ledgerIsChanged = true
        }
    }

    /// Throws `unreadable` where the file no longer stands under its name, after a copy of what
    /// is still open was put where `salvage` finds it.
    package func checkPlace() throws(StoreError) {
        guard connection.isGone else { return }
        rescue()
        throw .unreadable("board.db was moved or deleted")
    }

    /// Runs `body` so that what it deletes is overwritten.
    func overwriting(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try connection.overwrite(true)
        defer { try? connection.overwrite(false) }
        try body()
    }

    /// Runs `body` in a write transaction; undoes file and memory if it throws.
    func transaction(
        isSynced: Bool = true, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try checkPlace()
        try trust()
        try boundLog()
        try connection.sync(isSynced)
        try judged { () throws(StoreError) in try statements.begin.run() }
        var before = (keys, state, ledger, memory)
        stateIsChanged = false
        ledgerIsChanged = false
        do throws(StoreError) {
            try reloadIfChangedElsewhere()
            before = (keys, state, ledger, memory)
            try body()
            if stateIsChanged { try saveState() }
            if ledgerIsChanged { try saveLedger() }
            try statements.commit.run()
        } catch {
            // After some failures SQLite has undone it already.
            if connection.isInTransaction { try? statements.rollback.run() }
            (keys, state, ledger, memory) = before
            forget()
            isSuspect = isSuspect || error.isOfSync
            throw error
        }
        carryLog()
    }

    /// Runs `body` on one unchanging view of the file.
    func snapshot<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        try trust()
        try statements.beginRead.run()
        defer { if connection.isInTransaction { try? statements.rollback.run() } }
        try reloadIfChangedElsewhere()
        return try body()
    }

    private func judged(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            isSuspect = isSuspect || error.isOfSync
            throw error
        }
    }

    private func forget() {
        writer.forget()
        reader.forget()
        open = nil
        windowEnd = nil
    }

    /// Another process may have replaced a key since.
    ///
    /// Source: sqlite.org/pragma.html#pragma_data_version.
    func reloadIfChangedElsewhere() throws(StoreError) {
        defer { statements.dataVersion.reset() }
        guard try statements.dataVersion.step() else { return }
        let version = statements.dataVersion.int(0)
        guard version != dataVersion else { return }
        keys = try KeyTable.load(connection, wrapping)
        forget()
        try loadState()
        dataVersion = version
    }

    /// Keeps the name of a damaged record for `takeDamaged`: each once, and not without bound.
    func note(_ record: DamagedRecord) {
        guard damaged.count < 1000, !damaged.contains(record) else { return }
        damaged.append(record)
    }

    /// Clears the log, and with it the last copy of what was destroyed, or leaves it due.
    func clearOldPages() {
        guard isClearingDue else { return }
        do throws(StoreError) {
            try connection.emptyLog()
            isClearingDue = false
        } catch {
            // A reader stands in the way: after the next transaction it is tried again.
            isSuspect = isSuspect || error.isOfSync
        }
    }
}

/// The log's length, and a file whose sync failed.
extension BoardDatabase {
    /// Frames, a page of 4 KiB each, after which the log is carried into the file.
    private static let logDue = 1000
    /// Frames at which nothing more is written until a reader lets go of the log.
    private static let logLimit = 2000

    private func carryLog() {
        guard connection.logFrames >= Self.logDue else { return }
        do throws(StoreError) {
            try connection.carryLog()
        } catch {
            // What was committed stands in the log.
            isSuspect = isSuspect || error.isOfSync
        }
    }

    /// Throws `unavailable(.busy)` while another process reads and the log is long.
    private func boundLog() throws(StoreError) {
        guard connection.logFrames >= Self.logLimit else { return }
        try judged { () throws(StoreError) in try connection.emptyLog() }
    }

    /// Opens the file anew after a failed sync, before anything is believed or written.
    ///
    /// The kernel may have marked pages as written that are not, and a second sync would then
    /// succeed for nothing. Opened anew, SQLite checks each frame of the log by its checksum;
    /// then the whole log is written to the file, which is synced.
    /// Source: lwn.net/Articles/752063; sqlite.org/fileformat2.html#walformat.
    func trust() throws(StoreError) {
        guard isSuspect else { return }
        forget()
        // The old connection must be closed first: a database of nothing stands in.
        connection = try Connection(":memory:")
        try connection.run(Schema.tables)
        statements = try Statements(connection)
        let opened = try Self.open(files.database)
        try opened.emptyLog()
        statements = try Statements(opened)
        connection = opened
        keys = try KeyTable.load(connection, wrapping)
        try loadState()
        dataVersion = try connection.number("PRAGMA data_version")
        isSuspect = false
    }
}
