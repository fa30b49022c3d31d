import AuthorityCore
import PostgreSQLClient

/// A connection to PostgreSQL within a transaction. Writes without a needed result are sent and not
/// awaited, so they cost no round trip.
///
/// The first database error is kept. After it the transaction is lost, even if the body catches the
/// error.
final class PostgreSQLRunner: SQLRunner {
    let dialect = SQLDialect.postgreSQL
    private let connection: PostgresConnection
    /// How many more queries are allowed; nil is no limit.
    private var allowance: Int?
    private(set) var failure: PostgresError?
    /// Whether it received more queries than allowed.
    private(set) var isExhausted = false

    /// Whether a transaction must still begin, with the first statement that needs one.
    private var isUnbegun: Bool
    private(set) var afterwards: [(sql: String, values: [SQLValue])] = []

    /// - Parameter beginsLate: whether to begin a SERIALIZABLE transaction with the first statement
    ///   that needs it. If false, a transaction is already open, or none is needed.
    init(_ connection: PostgresConnection, beginsLate: Bool = false, allowance: Int? = nil) {
        self.connection = connection
        self.allowance = allowance
        isUnbegun = beginsLate
    }

    /// Whether there is something to commit.
    var hasBegun: Bool { !isUnbegun }

    /// Runs `before` outside of the transaction. Inside it, boards whose replies share an index
    /// page would be in conflict: each reads where the other writes.
    func rows(
        before: [SQLQuery], _ queries: [SQLQuery]
    ) throws(AuthorityError) -> (before: [[SQLRow]], rows: [[SQLRow]]) {
        try attempt(begins: false) { connection throws(PostgresError) in
            let begins = isUnbegun && !queries.isEmpty
            if begins { isUnbegun = false }
            let found = try connection.query(before, thenBeginning: begins, queries)
            return (
                Array(found.prefix(before.count)), Array(found.dropFirst(before.count)))
        }
    }

    func runAfterwards(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) {
        afterwards.append((sql, values))
    }

    func rows(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) -> [SQLRow] {
        try attempt { connection throws(PostgresError) in
            try connection.query(sql, values)
        }
    }

    func change(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) -> Int {
        try attempt { connection throws(PostgresError) in
            try connection.change(sql, values)
        }
    }

    func run(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) {
        try attempt { connection throws(PostgresError) in
            try connection.send(sql, values)
        }
    }

    private func attempt<R>(
        begins: Bool = true,
        _ body: (PostgresConnection) throws(PostgresError) -> R
    ) throws(AuthorityError) -> R {
        if let failure { throw failure.authorityError }
        if let left = allowance {
            guard left > 0 else {
                isExhausted = true
                throw .failed(layer: "store", text: "a read used more statements than it may")
            }
            allowance = left - 1
        }
        do throws(PostgresError) {
            if begins, isUnbegun {
                isUnbegun = false
                try connection.begin(.serializable)
            }
            return try body(connection)
        } catch {
            failure = error
            throw error.authorityError
        }
    }
}
