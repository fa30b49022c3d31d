/// The statements that run again and again, prepared once.
struct Statements {
    let begin: Statement
    let beginRead: Statement
    let commit: Statement
    let rollback: Statement
    let dataVersion: Statement
    let addRow: Statement
    let dropRow: Statement
    /// Rows from a key on, whole.
    let rows: Statement
    /// The key of the row that a sequence would stand in.
    let rowBefore: Statement
    /// Rows that a run of sequences touches, without their bodies.
    let heads: Statement
    let front: Statement
    let saveState: Statement
    let addWindow: Statement
    let trimWindow: Statement
    let windowRow: Statement
    let readRecord: Statement
    let putRecord: Statement
    let freePages: Statement

    private static let head = """
        first, last, count, oldest, classes, sid, user, length(body)
        """

    init(_ connection: Connection) throws(StoreError) {
        begin = try Statement(connection, "BEGIN IMMEDIATE")
        beginRead = try Statement(connection, "BEGIN")
        commit = try Statement(connection, "COMMIT")
        rollback = try Statement(connection, "ROLLBACK")
        dataVersion = try Statement(connection, "PRAGMA data_version")
        addRow = try Statement(connection, """
            INSERT INTO batch (first, last, count, oldest, classes, sid, user, body)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """)
        dropRow = try Statement(connection, "DELETE FROM batch WHERE first = ?1")
        rows = try Statement(
            connection, "SELECT \(Self.head), body FROM batch WHERE first >= ?1 ORDER BY first")
        rowBefore = try Statement(
            connection, "SELECT first FROM batch WHERE first <= ?1 ORDER BY first DESC LIMIT 1")
        heads = try Statement(
            connection,
            "SELECT \(Self.head) FROM batch WHERE first BETWEEN ?1 AND ?2 ORDER BY first")
        front = try Statement(
            connection, "SELECT \(Self.head) FROM batch ORDER BY first LIMIT 1")
        saveState = try Statement(
            connection, "INSERT OR REPLACE INTO state (id, last, sealed) VALUES (?1, ?2, ?3)")
        addWindow = try Statement(
            connection, "INSERT OR REPLACE INTO window (last, sealed) VALUES (?1, ?2)")
        trimWindow = try Statement(connection, "DELETE FROM window WHERE last <= ?1")
        windowRow = try Statement(connection, "SELECT last, sealed FROM window WHERE last = ?1")
        readRecord = try Statement(connection, "SELECT sealed FROM vault WHERE name = ?1")
        putRecord = try Statement(
            connection, "INSERT OR REPLACE INTO vault (name, sealed) VALUES (?1, ?2)")
        freePages = try Statement(connection, "PRAGMA freelist_count")
    }
}

extension Statement {
    /// The columns of a row without its body, as `Statements.head` has them.
    ///
    /// They stand in clear, so a damaged one may hold anything until the row is opened: what no
    /// row has is put within what arithmetic bears.
    var head: RowHead {
        let first = int(0)
        let count = min(max(int(2), 1), RowHead.countLimit)
        let (distance, isFar) = int(1).subtractingReportingOverflow(first)
        let span = isFar || distance < 0 || distance > RowHead.countLimit ? count - 1 : distance
        let (last, isTooMuch) = first.addingReportingOverflow(span)
        return RowHead(
            first: first, last: isTooMuch ? .max : last, count: count,
            oldest: int(3), classes: int(4), session: text(5), user: text(6),
            size: Int(clamping: int(7)))
    }
}
