import AuthorityCore
import Foundation
import GRDB
import Sessions

/// One transaction, while it lasts. Each table's part is in a file of its own.
struct SQLiteTransaction: AuthorityTransaction {
    let database: Database
    let wrapping: any SecretWrapping
    private let told = ToldLines()

    init(database: Database, wrapping: any SecretWrapping) {
        self.database = database
        self.wrapping = wrapping
    }

    var choreLines: [String] { told.lines }

    func noteChore(in line: String) {
        if !told.lines.contains(line) { told.lines.append(line) }
    }

    func row(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws(AuthorityError) -> Row? {
        do {
            return try Row.fetchOne(database.cachedStatement(sql: sql), arguments: arguments)
        } catch {
            throw storeFailure(error)
        }
    }

    func rows(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws(AuthorityError) -> [Row] {
        do {
            return try Row.fetchAll(database.cachedStatement(sql: sql), arguments: arguments)
        } catch {
            throw storeFailure(error)
        }
    }

    /// How many rows it changed.
    @discardableResult
    func run(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws(AuthorityError) -> Int {
        do {
            try database.cachedStatement(sql: sql).execute(arguments: arguments)
            return database.changesCount
        } catch {
            throw storeFailure(error)
        }
    }

    func map<T>(
        _ rows: [Row], _ read: (Row) throws(AuthorityError) -> T
    ) throws(AuthorityError) -> [T] {
        var result: [T] = []
        result.reserveCapacity(rows.count)
        for row in rows { result.append(try read(row)) }
        return result
    }
}

/// The lines that a transaction left chores in.
private final class ToldLines {
    var lines: [String] = []
}

/// A value that the schema does not allow: the file was changed by something else.
func damaged(_ column: String) -> AuthorityError {
    .failed(layer: "store", text: "the column \(column) is damaged")
}

extension Row {
    /// A column that must be there and of its type.
    func value<T: DatabaseValueConvertible>(_ column: String) throws(AuthorityError) -> T {
        guard let value = try optional(column, as: T.self) else { throw damaged(column) }
        return value
    }

    /// GRDB finds a column in whatever case, and makes each name lower case to do so; ours are
    /// asked for as they are written.
    private func stored(_ column: String) throws(AuthorityError) -> DatabaseValue {
        for (name, value) in self where name == column { return value }
        throw damaged(column)
    }

    /// A column that may be NULL.
    func optional<T: DatabaseValueConvertible>(
        _ column: String, as type: T.Type = T.self
    ) throws(AuthorityError) -> T? {
        let stored = try stored(column)
        guard !stored.isNull else { return nil }
        guard let value = T.fromDatabaseValue(stored) else { throw damaged(column) }
        return value
    }

    /// A column whose text has a type of its own.
    func parsed<T>(
        _ column: String, _ parse: (String) -> T?
    ) throws(AuthorityError) -> T {
        guard let value = parse(try value(column)) else { throw damaged(column) }
        return value
    }

    func parsedOptional<T>(
        _ column: String, _ parse: (String) -> T?
    ) throws(AuthorityError) -> T? {
        guard let text = try optional(column, as: String.self) else { return nil }
        guard let value = parse(text) else { throw damaged(column) }
        return value
    }

    func time(_ column: String) throws(AuthorityError) -> Timestamp {
        Timestamp(milliseconds: try value(column))
    }

    func optionalTime(_ column: String) throws(AuthorityError) -> Timestamp? {
        try optional(column, as: Int64.self).map(Timestamp.init(milliseconds:))
    }

    func bytes(_ column: String) throws(AuthorityError) -> [UInt8] {
        guard let bytes = try optionalBytes(column) else { throw damaged(column) }
        return bytes
    }

    func optionalBytes(_ column: String) throws(AuthorityError) -> [UInt8]? {
        let stored = try stored(column)
        switch stored.storage {
        case .null: return nil
        case .blob(let data): return Array(data)
        default: throw damaged(column)
        }
    }
}
