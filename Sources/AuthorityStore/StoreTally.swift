package import AuthorityCore
import GRDB

/// How much an authority has in its store, counted when asked.
package struct StoreTally: Equatable, Sendable {
    package var users: Int64
    package var boards: Int64
    /// Boards whose last status says that they are up.
    package var boardsUp: Int64
    /// Sessions that live, those of people and those of boards.
    package var sessionsOfPeople: Int64
    package var sessionsOfBoards: Int64
    /// Sessions that are over and still on record, by why.
    package var endings: [String: Int64]
    /// The database file, without its journal.
    package var bytes: Int64
}

extension SQLiteAuthorityStore {
    /// Looks at every board and session once: for a scrape, not for a request.
    package func tally() async throws(AuthorityError) -> StoreTally {
        do {
            return try await pool.read { database in
                func count(_ sql: String) throws -> Int64 {
                    try Int64.fetchOne(database, sql: sql) ?? 0
                }
                let endings = try Row.fetchAll(database, sql: """
                    SELECT coalesce(end_reason, 'unknown') AS reason, count(*) AS number
                    FROM sessions WHERE state = 'ended' GROUP BY reason
                    """).map { row -> (String, Int64) in (row["reason"], row["number"]) }
                return StoreTally(
                    users: try count("SELECT count(*) FROM users"),
                    boards: try count("SELECT count(*) FROM boards WHERE released = 0"),
                    boardsUp: try count("""
                        SELECT count(*) FROM boards JOIN statuses ON installation_id = id
                        WHERE released = 0 AND json_extract(status, '$.status') = 'up'
                        """),
                    sessionsOfPeople: try count("""
                        SELECT count(*) FROM sessions WHERE state = 'active' AND restricted = 0
                        """),
                    sessionsOfBoards: try count("""
                        SELECT count(*) FROM sessions WHERE state = 'active' AND restricted = 1
                        """),
                    endings: Dictionary(endings) { $0 + $1 },
                    bytes: try count("PRAGMA page_count") * count("PRAGMA page_size"))
            }
        } catch {
            throw storeFailure(error)
        }
    }
}
