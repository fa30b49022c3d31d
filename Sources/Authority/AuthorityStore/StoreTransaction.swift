import AuthorityCore
import PostgreSQLClient
import Sessions

/// A connection within a transaction: all that the tables need from a database.
///
/// Statements are written once for all databases. Placeholders are `?` in the order of the values,
/// or `?1`, `?2` if one value is used several times. The dialect has the differences.
protocol SQLRunner {
    var dialect: SQLDialect { get }

    /// Returns the rows of a query, or of a change that returns rows.
    func rows(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) -> [SQLRow]
    /// Makes a change and returns the number of changed rows.
    func change(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) -> Int
    /// Makes a change without a result. It may be sent and not awaited. An error is thrown now, by
    /// the next statement, or by the commit.
    func run(_ sql: String, _ values: [SQLValue]) throws(AuthorityError)

    /// Returns the rows of many queries in one round trip. The queries in `before` may run before
    /// the transaction has its view of the database. If they miss a row, a unique index stops the
    /// commit at the latest.
    func rows(
        before: [SQLQuery], _ queries: [SQLQuery]
    ) throws(AuthorityError) -> (before: [[SQLRow]], rows: [[SQLRow]])
    /// Makes a change that may run after the commit. Nothing depends on it.
    func runAfterwards(_ sql: String, _ values: [SQLValue]) throws(AuthorityError)
}

extension SQLRunner {
    func rows(
        before: [SQLQuery], _ queries: [SQLQuery]
    ) throws(AuthorityError) -> (before: [[SQLRow]], rows: [[SQLRow]]) {
        (try each(before), try each(queries))
    }

    private func each(_ queries: [SQLQuery]) throws(AuthorityError) -> [[SQLRow]] {
        var found: [[SQLRow]] = []
        for query in queries { found.append(try rows(query.sql, query.values)) }
        return found
    }

    func runAfterwards(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) {
        try run(sql, values)
    }
}

/// The operations that a service needs besides the core's tables.
protocol ServiceTransaction: AuthorityTransaction {
    func latestTime() throws(AuthorityError) -> Timestamp?
    func raiseLatestTime(to time: Timestamp) throws(AuthorityError)
    func resetLatestTime(to time: Timestamp) throws(AuthorityError)
    func tally() throws(AuthorityError) -> StoreTally
    /// Whether the transaction has written something that other processes watch for.
    var isNews: Bool { get }
    /// The same transaction for another request, which sees only its own jobs.
    func forAnotherRequest() -> any ServiceTransaction
}

/// The tables over a connection, while its transaction lasts.
func tables(
    over runner: any SQLRunner, wrapping: any SecretWrapping
) -> any ServiceTransaction {
    StoreTransaction(runner: runner, wrapping: wrapping)
}

/// One transaction. The operations on the tables are in the folder `Tables`.
struct StoreTransaction: ServiceTransaction {
    let runner: any SQLRunner
    let wrapping: any SecretWrapping
    private let told: JobSubjects

    init(runner: any SQLRunner, wrapping: any SecretWrapping) {
        self.init(runner: runner, wrapping: wrapping, news: News())
    }

    private init(runner: any SQLRunner, wrapping: any SecretWrapping, news: News) {
        self.runner = runner
        self.wrapping = wrapping
        told = JobSubjects(news)
    }

    func forAnotherRequest() -> any ServiceTransaction {
        StoreTransaction(runner: runner, wrapping: wrapping, news: told.news)
    }

    var dialect: SQLDialect { runner.dialect }

    var jobLines: [String] { told.lines }

    var isNews: Bool { told.news.isThere }

    func noteJob(in line: String) {
        noteNews()
        if !told.lines.contains(line) { told.lines.append(line) }
    }

    func noteNews() { told.news.isThere = true }

    func row(
        _ sql: String, _ values: [(any SQLBindable)?] = []
    ) throws(AuthorityError) -> SQLRow? {
        try runner.rows(sql, bound(values)).first
    }

    func rows(
        _ sql: String, _ values: [(any SQLBindable)?] = []
    ) throws(AuthorityError) -> [SQLRow] {
        try runner.rows(sql, bound(values))
    }

    func change(
        _ sql: String, _ values: [(any SQLBindable)?] = []
    ) throws(AuthorityError) -> Int {
        try runner.change(sql, bound(values))
    }

    func run(
        _ sql: String, _ values: [(any SQLBindable)?] = []
    ) throws(AuthorityError) {
        try runner.run(sql, bound(values))
    }

    func query(_ sql: String, _ values: [(any SQLBindable)?]) -> SQLQuery {
        SQLQuery(sql: sql, values: bound(values))
    }

    func runAfterwards(
        _ sql: String, _ values: [(any SQLBindable)?]
    ) throws(AuthorityError) {
        try runner.runAfterwards(sql, bound(values))
    }

    private func bound(_ values: [(any SQLBindable)?]) -> [SQLValue] {
        values.map { $0?.sqlValue ?? .null }
    }

    /// The most rows of one query on a table without a limit. An answer of the database has a
    /// limit.
    static let piece = 10_000

    /// Reads a unique column of all rows of a table, in the column's order.
    func every<ID: CustomStringConvertible>(
        _ column: String, in table: String, _ parse: (String) -> ID?
    ) throws(AuthorityError) -> [ID] {
        var found: [ID] = []
        while true {
            let piece = try rows(
                """
                SELECT \(column) FROM \(table) WHERE \(column) > ?
                ORDER BY \(column) LIMIT \(Self.piece)
                """, [found.last?.description ?? ""])
            found += try map(piece) { row throws(AuthorityError) in try row.parsed(column, parse) }
            if piece.count < Self.piece { return found }
        }
    }

    func map<T>(
        _ rows: [SQLRow], _ read: (SQLRow) throws(AuthorityError) -> T
    ) throws(AuthorityError) -> [T] {
        var result: [T] = []
        result.reserveCapacity(rows.count)
        for row in rows { result.append(try read(row)) }
        return result
    }
}

/// The boards and sessions for which one request has added jobs.
private final class JobSubjects {
    var lines: [String] = []
    let news: News

    init(_ news: News) { self.news = news }
}

/// Whether a transaction has written what other processes watch for.
private final class News {
    var isThere = false
}
