import AuthorityCore
import Foundation
import GRDB
import PostgreSQLClient

/// A SQLite connection within a transaction. It runs each statement at once.
struct SQLiteRunner: SQLRunner {
    let database: Database
    let dialect = SQLDialect.sqlite

    func rows(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) -> [SQLRow] {
        do {
            let statement = try database.cachedStatement(sql: sql)
            let cursor = try Row.fetchCursor(statement, arguments: arguments(values))
            var columns: SQLColumns?
            var rows: [SQLRow] = []
            while let row = try cursor.next() {
                let shared = columns ?? SQLColumns(statement.columnNames)
                columns = shared
                // A statement that was compiled before a schema change may have other columns now.
                let current = row.count == shared.names.count ? row : row.copy()
                rows.append(SQLRow(columns: shared, values: Self.read(current)))
            }
            return rows
        } catch {
            throw storeFailure(error)
        }
    }

    func change(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) -> Int {
        try run(sql, values)
        return database.changesCount
    }

    func run(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) {
        do {
            try database.cachedStatement(sql: sql).execute(arguments: arguments(values))
        } catch {
            throw storeFailure(error)
        }
    }

    private func arguments(_ values: [SQLValue]) -> StatementArguments {
        StatementArguments(values.map(Self.stored))
    }

    /// Returns an optional, because GRDB uses a slow key path for values that are not optional.
    private static func stored(_ value: SQLValue) -> (any DatabaseValueConvertible)? {
        switch value {
        case .null: nil
        case .integer(let value): value
        case .text(let text): text
        case .blob(let bytes): Data(bytes)
        case .bool(let value): value
        }
    }

    private static func read(_ row: Row) -> [SQLValue] {
        (0..<row.count).map { index in
            let stored: DatabaseValue = row[index]
            return switch stored.storage {
            case .null: .null
            case .int64(let value): .integer(value)
            case .string(let text): .text(text)
            case .blob(let data): .blob(Array(data))
            // No column of ours holds a double. A reader finds the column damaged.
            case .double(let value): .text("\(value)")
            }
        }
    }
}

extension StoreTransaction {
    init(_ database: Database, _ wrapping: any SecretWrapping) {
        self.init(runner: SQLiteRunner(database: database), wrapping: wrapping)
    }
}
