/// The statements that run again and again, prepared once.
struct Statements {
    let begin: Statement
    let beginRead: Statement
    let commit: Statement
    let rollback: Statement
    let dataVersion: Statement
    let append: Statement
    let remove: Statement
    let next: Statement
    let oldest: Statement
    let saveState: Statement
    let addWindow: Statement
    let trimWindow: Statement
    let windowRow: Statement
    let readRecord: Statement
    let putRecord: Statement
    let freePages: Statement

    init(_ connection: Connection) throws(StoreError) {
        begin = try Statement(connection, "BEGIN IMMEDIATE")
        beginRead = try Statement(connection, "BEGIN")
        commit = try Statement(connection, "COMMIT")
        rollback = try Statement(connection, "ROLLBACK")
        dataVersion = try Statement(connection, "PRAGMA data_version")
        append = try Statement(
            connection,
            "INSERT INTO queue (seq, at, sid, user, body) VALUES (?1, ?2, ?3, ?4, ?5)")
        remove = try Statement(
            connection, "DELETE FROM queue WHERE seq BETWEEN ?1 AND ?2 RETURNING length(body)")
        next = try Statement(
            connection,
            "SELECT seq, at, sid, user, body FROM queue WHERE seq > ?1 ORDER BY seq")
        oldest = try Statement(connection, "SELECT at FROM queue ORDER BY seq LIMIT 1")
        saveState = try Statement(
            connection, "INSERT OR REPLACE INTO state (id, last, sealed) VALUES (1, ?1, ?2)")
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
