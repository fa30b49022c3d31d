package import AuthorityCore
import Foundation
import GRDB
package import Sessions

/// Facts about a store, read while a service may use it. Read only.
package struct StoreExamination: Sendable {
    /// The damage that SQLite finds in the file. Empty if there is none, nil if the file was too
    /// large to check.
    package var damage: [String]?
    /// The version of its tables if it is not ours. Then the rest is unknown.
    package var otherVersion: Int64?
    /// The latest time that a service has believed.
    package var latest: Timestamp?
    /// The authority's keys; empty if they cannot be unwrapped.
    package var keys: [KeyRecord] = []
    /// Why the keys cannot be unwrapped.
    package var keyFault: String?
    /// True if the store has no schema, or a schema without a key: making the authority did not
    /// finish.
    package var isUnfounded = false
    package var sqliteVersion = ""
    /// The number of boards that were found ahead of the store.
    package var boardsAhead = 0
    /// Whether an operator restored the store and has not settled that yet.
    package var isRestored = false
    /// The last try to send an alert on each channel.
    package var alertDeliveries: [AlertDelivery] = []

    private static let thoroughLimit: Int64 = 256 << 20

    package init() {}

    /// Throws `failed(layer: "store")` if the file is not a database of this program. Without
    /// `wrapping` it does not read the keys.
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
        found.alertDeliveries = try Row.fetchAll(database, sql: "SELECT * FROM alert_deliveries")
            .compactMap { row in
                AlertChannel(rawValue: row["channel"]).map { channel in
                    AlertDelivery(
                        channel: channel, at: Timestamp(milliseconds: row["at"]),
                        failure: row["failure"])
                }
            }
        guard let wrapping else { return found }
        do throws(AuthorityError) {
            found.keys = try StoreTransaction(database, wrapping).keys()
        } catch {
            if case .failed(_, let text) = error { found.keyFault = text }
        }
        return found
    }
}
