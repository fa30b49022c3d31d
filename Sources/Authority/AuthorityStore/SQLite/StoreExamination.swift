package import AuthorityCore
import Foundation
import GRDB
package import Sessions

/// A look at a store beside whoever serves from it: read only.
package struct StoreExamination: Sendable {
    /// What SQLite finds wrong with the file; empty where all is well, nil where it was too
    /// large to be looked through.
    package var damage: [String]?
    /// The version of its tables, where it is not ours; then nothing else is known of it.
    package var otherVersion: Int64?
    /// The latest time that a service has believed.
    package var latest: Timestamp?
    /// The authority's keys; empty where they cannot be unwrapped.
    package var keys: [KeyRecord] = []
    /// Why they cannot.
    package var keyFault: String?
    /// Whether there is a schema and no key: no authority was made, or not to the end.
    package var isUnfounded = false
    package var sqliteVersion = ""
    /// How many boards were found ahead of the store.
    package var boardsAhead = 0
    /// Whether an operator restored it, and has not settled that.
    package var isRestored = false

    private static let thoroughLimit: Int64 = 256 << 20

    package init() {}

    /// Throws `failed(layer: "store")` for what is no database of this program. Without
    /// `wrapping` the keys are not looked at.
    package init(
        path: String, wrapping: (any SecretWrapping)?
    ) throws(AuthorityError) {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(2)
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            self = try queue.read { database in
                try Self.look(database, path, wrapping)
            }
            try queue.close()
        } catch {
            throw storeFailure(error)
        }
    }

    private static func look(
        _ database: Database, _ path: String, _ wrapping: (any SecretWrapping)?
    ) throws -> StoreExamination {
        var found = StoreExamination()
        found.sqliteVersion = try String.fetchOne(database, sql: "SELECT sqlite_version()") ?? ""
        let version = try Schema.found(in: SQLiteRunner(database: database))
        guard version == Schema.version else {
            found.otherVersion = version
            found.isUnfounded = version == nil
            return found
        }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64
        if (size ?? 0) <= thoroughLimit {
            found.damage = try String.fetchAll(database, sql: "PRAGMA quick_check(3)")
                .filter { $0 != "ok" }
        }
        found.latest = try Int64.fetchOne(
            database, sql: "SELECT at FROM times WHERE name = 'latest'"
        ).map(Timestamp.init(milliseconds:))
        found.isUnfounded = try Int.fetchOne(database, sql: "SELECT 1 FROM keys LIMIT 1") == nil
        found.boardsAhead = try Int.fetchOne(database, sql: "SELECT count(*) FROM ahead") ?? 0
        found.isRestored = try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM gaps WHERE restored = 1)") ?? false
        guard let wrapping else { return found }
        do throws(AuthorityError) {
            found.keys = try StoreTransaction(database, wrapping).keys()
        } catch {
            if case .failed(_, let text) = error { found.keyFault = text }
        }
        return found
    }
}
