import AuthorityCore
import AuthorityStore
import ConfigurationFiles
import LinuxIO
import PostgreSQLStore
import Sessions

// Where the records stand.
extension StateFolder {
    init(_ settings: ServiceSettings) {
        self.init(
            path: settings.stateDirectory, store: settings.store,
            masterKeyFile: settings.masterKeyFile)
    }

    /// What to call it before people: a folder, or an address without its options.
    var recordPlace: String {
        switch store {
        case .file: path
        case .postgres(let place): String(place.uri.prefix { $0 != "?" })
        }
    }

    /// The store, with its tables.
    func opened(wrapping key: MasterKey) async throws -> any ServiceStore {
        guard case .postgres = store else {
            return try SQLiteAuthorityStore(path: database, wrapping: key)
        }
        return try await openedDatabase(wrapping: key)
    }

    /// The database that `store` names, which a backup reads or a restore fills.
    func openedDatabase(wrapping key: MasterKey) async throws -> PostgreSQLAuthorityStore {
        guard case .postgres(let place) = store else {
            throw StateFolderError.badStore("is a file; name a database: store = \"postgres://…\"")
        }
        return try await PostgreSQLAuthorityStore(
            Self.address(of: place), connections: place.connections, wrapping: key)
    }

    /// Copies a store's file into the database, which is empty: nothing there is written over.
    /// Returns how many rows each table has.
    func fillDatabase(from file: StoreFile) async throws -> [String: Int] {
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

    static func address(of place: PostgresPlace) throws -> PostgresAddress {
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

    /// Waits until this process alone may do `what` in the store, half a minute at most.
    static func only(
        _ what: String, of store: any ServiceStore
    ) async throws -> any StoreHold {
        try await taken(what) { () async throws(AuthorityError) in try await store.hold(what) }
    }

    /// What `take` gives once another process is no longer at `what`.
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
