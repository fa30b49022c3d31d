import CSQLite

/// One SQLite connection, closed with its owner once its last statement is gone.
///
/// The corresponding C type is `sqlite3`.
@safe
final class Connection {
    fileprivate let raw: OpaquePointer
    private var isSynced = true
    private let frames: UnsafeMutablePointer<Int32>

    /// Opens an existing file. Waits up to two seconds for another process.
    ///
    /// The corresponding C function is `sqlite3_open_v2`.
    init(_ path: String) throws(StoreError) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        var opened: OpaquePointer?
        let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard let handle = unsafe opened else { throw .unavailable(.noMemory) }
        guard result == SQLITE_OK else {
            let code = unsafe sqlite3_extended_errcode(handle)
            unsafe sqlite3_close_v2(handle)
            throw StoreError(sqlite: code, "open")
        }
        unsafe raw = handle
        unsafe frames = .allocate(capacity: 1)
        unsafe frames.initialize(to: 0)
        unsafe sqlite3_extended_result_codes(handle, 1)
        unsafe sqlite3_busy_timeout(handle, 2000)
    }

    deinit {
        unsafe sqlite3_close_v2(raw)
        unsafe frames.deallocate()
    }

    /// How many frames the log had after the last commit, once `watchLog` was called.
    var logFrames: Int { Int(unsafe frames.pointee) }

    /// Counts the log's frames from now on; nothing else carries them into the database file
    /// then but `carryLog` and `emptyLog`. The corresponding C function is `sqlite3_wal_hook`.
    func watchLog() {
        _ = unsafe sqlite3_wal_hook(
            raw,
            { place, _, _, count in
                unsafe place?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, frames)
    }

    /// Whether what is deleted from now on is overwritten, also where that costs a write.
    func overwrite(_ isWanted: Bool) throws(StoreError) {
        try run(isWanted ? "PRAGMA secure_delete=ON" : "PRAGMA secure_delete=FAST")
    }

    /// Runs statements that give no rows that matter.
    ///
    /// The corresponding C function is `sqlite3_exec`.
    func run(_ sql: String) throws(StoreError) {
        try check(unsafe sqlite3_exec(raw, sql, nil, nil, nil), "exec")
    }

    /// The first column of the first row as a number.
    func number(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try Statement(self, sql)
        return try statement.step() ? statement.int(0) : 0
    }

    /// The first column of each row, at most `limit`.
    func texts(_ sql: String, limit: Int) throws(StoreError) -> [String] {
        let statement = try Statement(self, sql)
        var texts: [String] = []
        while texts.count < limit, try statement.step() { texts.append(statement.text(0)) }
        return texts
    }

    /// Whether a commit is on disk when it returns, from the next transaction on.
    ///
    /// Without it a commit only stands in the log: a power cut may undo it, and all after it up
    /// to the next synced one, never one without the other. A later synced commit is safe: it
    /// syncs the log file as a whole, whose frames only count as far as their checksums chain,
    /// and the log's own header is synced at its start in either mode. A checkpoint syncs the
    /// log before the database takes anything from it.
    /// Source: sqlite.org/pragma.html#pragma_synchronous; sqlite.org/wal.html#performance.
    func sync(_ isWanted: Bool) throws(StoreError) {
        // The pragma acts while it is compiled, so it cannot be prepared once.
        guard isWanted != isSynced else { return }
        try run(isWanted ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL")
        isSynced = isWanted
    }

    /// Carries the log's frames into the database file, as far as no reader stands in the way.
    ///
    /// The corresponding C function is `sqlite3_wal_checkpoint_v2`.
    func carryLog() throws(StoreError) {
        let mode = SQLITE_CHECKPOINT_PASSIVE
        try check(unsafe sqlite3_wal_checkpoint_v2(raw, nil, mode, nil, nil), "checkpoint")
    }

    /// Whether a transaction is open. The corresponding C function is `sqlite3_get_autocommit`.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(raw) == 0 }

    /// Whether the file no longer stands under its name: what is written now would be lost.
    ///
    /// The corresponding C constant is `SQLITE_FCNTL_HAS_MOVED`.
    var isGone: Bool {
        var moved: Int32 = 0
        _ = unsafe sqlite3_file_control(raw, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return moved != 0
    }

    /// Moves all of the WAL into the database file and cuts it to nothing.
    ///
    /// Throws `unavailable(.busy)` when a reader prevents it; the content is safe either way.
    /// The corresponding C function is `sqlite3_wal_checkpoint_v2`.
    func emptyLog() throws(StoreError) {
        let mode = SQLITE_CHECKPOINT_TRUNCATE
        try check(unsafe sqlite3_wal_checkpoint_v2(raw, nil, mode, nil, nil), "checkpoint")
        unsafe frames.pointee = 0
    }

    fileprivate func check(_ result: Int32, _ doing: String) throws(StoreError) {
        guard result != SQLITE_OK else { return }
        throw StoreError(sqlite: unsafe sqlite3_extended_errcode(raw), doing)
    }

    fileprivate func prepare(_ sql: String) throws(StoreError) -> OpaquePointer {
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(unsafe sqlite3_prepare_v3(raw, sql, -1, flags, &statement, nil), "prepare")
        guard let prepared = unsafe statement else { throw .corrupt("an empty statement") }
        return unsafe prepared
    }
}

/// A prepared statement, finalised with its owner.
///
/// Parameters and columns count as SQLite has them: parameters from 1, columns from 0. The
/// corresponding C type is `sqlite3_stmt`.
@safe
final class Statement {
    private let raw: OpaquePointer
    /// Keeps the connection open for as long as the statement lives.
    private let connection: Connection

    init(_ connection: Connection, _ sql: String) throws(StoreError) {
        unsafe raw = try connection.prepare(sql)
        self.connection = connection
    }

    deinit { unsafe sqlite3_finalize(raw) }

    func bind(_ index: Int32, _ number: Int64) {
        _ = unsafe sqlite3_bind_int64(raw, index, number)
    }

    /// The corresponding C function is `sqlite3_bind_text`; SQLite keeps a copy.
    func bind(_ index: Int32, _ text: String) {
        let copy = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        _ = unsafe sqlite3_bind_text(raw, index, text, -1, copy)
    }

    /// Runs to the end with a blob that SQLite only borrows, then makes it ready again.
    func run(_ index: Int32, blob: borrowing [UInt8]) throws(StoreError) {
        try unsafe blob.withUnsafeBufferPointer { bytes throws(StoreError) in
            let count = Int32(clamping: bytes.count)
            let bound = unsafe sqlite3_bind_blob(raw, index, bytes.baseAddress, count, nil)
            defer { _ = unsafe sqlite3_bind_null(raw, index) }
            guard bound == SQLITE_OK else { throw .unavailable(.noMemory) }
            try run()
        }
    }

    /// Runs to the end and makes it ready again.
    func run() throws(StoreError) {
        defer { reset() }
        while try step() {}
    }

    /// The next row; false after the last. The corresponding C function is `sqlite3_step`.
    func step() throws(StoreError) -> Bool {
        switch unsafe sqlite3_step(raw) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw StoreError(sqlite: code, "step")
        }
    }

    /// Ready to run again; bound values stay. The corresponding C function is `sqlite3_reset`.
    func reset() { _ = unsafe sqlite3_reset(raw) }

    func int(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(raw, column) }

    func text(_ column: Int32) -> String {
        guard let text = unsafe sqlite3_column_text(raw, column) else { return "" }
        return unsafe String(cString: text)
    }

    /// A copy of a blob column.
    func bytes(_ column: Int32) throws(StoreError) -> [UInt8] {
        try withBlob(column) { (span) throws(StoreError) in
            unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
        }
    }

    /// Lends a blob column to `body`; valid until the next step.
    func withBlob<R>(
        _ column: Int32, _ body: (Span<UInt8>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let count = Int(unsafe sqlite3_column_bytes(raw, column))
        let start = unsafe sqlite3_column_blob(raw, column)
        let bytes = unsafe UnsafeBufferPointer(
            start: start?.assumingMemoryBound(to: UInt8.self), count: start == nil ? 0 : count)
        return try body(unsafe bytes.span)
    }
}
