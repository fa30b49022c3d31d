import AuthorityBroker
import AuthorityCore
package import AuthorityStore
package import ConfigurationFiles
import LinuxIO
package import PostgreSQLClient
import Sessions

// The place of the records: a file or a database.
extension StateFolder {
    package init(_ settings: ServiceSettings) {
        self.init(
            path: settings.stateDirectory, store: settings.store,
            masterKeyFile: settings.masterKeyFile)
    }

    /// The place for messages: a folder, or a database address without its options.
    package var recordPlace: String {
        switch store {
        case .file: path
        case .postgres(let place): String(place.uri.prefix { $0 != "?" })
        }
    }

    /// Opens the store, with its tables.
    func opened(wrapping key: MasterKey) async throws -> any ServiceStore {
        guard case .postgres = store else {
            return try SQLiteAuthorityStore(path: database, wrapping: key)
        }
        return try await openedDatabase(wrapping: key)
    }

    /// Opens the database that `store` names, for a backup or a restore.
    package func openedDatabase(wrapping key: MasterKey) async throws -> PostgreSQLAuthorityStore {
        guard case .postgres(let place) = store else {
            throw StateFolderError.badStore("is not a database; set store = \"postgres://…\"")
        }
        return try await PostgreSQLAuthorityStore(
            Self.address(of: place), connections: place.connections, wrapping: key)
    }

    /// Copies a store's file into the database, which must be empty, so that nothing is
    /// overwritten. Returns the number of rows of each table.
    package func fillDatabase(from file: StoreFile) async throws -> [String: Int] {
        let target = try await openedDatabase(wrapping: try MasterKey(at: masterKey))
        guard try await Self.isWithoutUsers(target) else {
            throw StateFolderError.occupied(recordPlace)
        }
        let hold = try await Presence.alone(in: target, self)
        let rows = try await target.take(file)
        await hold.release()
        try target.close()
        return rows
    }

    package static func address(of place: PostgresPlace) throws -> PostgresAddress {
        let password = try place.passwordFile.map { file in
            do throws(FileFailure) {
                return SecretBytes(
                    AuthorityServer.firstLine(try PrivateFile.read(file, limit: 4096)))
            } catch {
                guard case .missing = error else { throw error }
                throw StateFolderError.badStore("[postgres] password_file: \(error)")
            }
        }
        do throws(PostgresError) {
            return try PostgresAddress(
                uri: place.uri, password: password, insecure: place.insecure)
        } catch {
            throw StateFolderError.badStore(error.text)
        }
    }

    /// Takes the lock `what` of the store. Waits for another process, for half a minute at most.
    static func only(
        _ what: String, of store: any ServiceStore
    ) async throws -> any StoreHold {
        try await taken(what) { () async throws(AuthorityError) in try await store.hold(what) }
    }

    /// Calls `take` until it returns a lock, for half a minute at most.
    static func taken(
        _ what: String, _ take: () async throws(AuthorityError) -> (any StoreHold)?
    ) async throws -> any StoreHold {
        let end = ContinuousClock.now + .seconds(30)
        while true {
            if let hold = try await take() { return hold }
            guard ContinuousClock.now < end, !Task.isCancelled else {
                throw StateFolderError.busy(what)
            }
            await pause(.milliseconds(200))
        }
    }
}
