import AuthorityCore
import AuthorityStore
import LinuxIO
import Sessions

/// An authority's files: `authority.db`, `authority.key` beside it, `broker/` for an embedded
/// broker, `tls/` for certificates of its own. Nobody else may enter the folder.
struct StateFolder: Sendable {
    let path: String

    var database: String { "\(path)/authority.db" }
    var masterKey: String { "\(path)/authority.key" }
    var broker: String { "\(path)/broker" }
    var certificates: CertificateFolder { CertificateFolder(path: "\(path)/tls") }

    /// Where root asks, as in an installed system, this process becomes the folder's owner: what
    /// it makes there is the service's. What only root may read is read before.
    func enter() throws(SystemError) {
        try ProcessOwner.stepDown(toOwnerOf: path)
    }

    /// Makes keys, schema and the first administrator.
    ///
    /// - Throws: `StateFolderError.initialised` if there is an administrator already; then
    ///   nothing was changed. What an interrupted attempt left behind is taken up.
    func found(
        administrator: String, password: SecretBytes, rules: AuthorityRules
    ) async throws {
        try enter()
        try PrivateFolder.prepare(path)
        do throws(FileFailure) {
            _ = try PrivateFile.read(masterKey, limit: 32)
        } catch {
            guard case .missing = error else { throw error }
            guard try !exists(database) else { throw StateFolderError.keyMissing(masterKey) }
            try MasterKey.make(at: masterKey)
        }
        let store = try SQLiteAuthorityStore(
            path: database, wrapping: try MasterKey(at: masterKey))
        guard try await store.read({ tx throws(AuthorityError) in try tx.users() }).isEmpty else {
            throw StateFolderError.initialised(path)
        }
        let now = systemClock()
        if try await store.read({ tx throws(AuthorityError) in try tx.keys() }).isEmpty {
            let keys = try KeyRing.make(at: now)
            try await store.transact { transaction throws(AuthorityError) in
                for key in keys { try transaction.insert(key) }
            }
        }
        let authority = Authority(
            store: store, cryptography: SystemCryptography(), courier: NoCourier(),
            keys: try await keys(of: store), rules: rules, clock: systemClock)
        let user = NewUser(
            username: administrator, password: password, isAdministrator: true, mayClaim: true)
        _ = try await authority.addUser(user, actor: "init")
        try store.close()
    }

    /// Opens what `found` made.
    func open() throws -> SQLiteAuthorityStore {
        try enter()
        guard try exists(database) else { throw StateFolderError.notInitialised(path) }
        try PrivateFolder.prepare(path)
        return try SQLiteAuthorityStore(
            path: database, wrapping: try MasterKey(at: masterKey))
    }

    /// Makes this process the one that serves from the folder, for as long as the lock lives.
    /// Other commands do without: all they touch is the database.
    func lock() throws -> FolderLock {
        try enter()
        guard try exists(database) else { throw StateFolderError.notInitialised(path) }
        try PrivateFolder.prepare(path)
        do throws(FileFailure) {
            return try FolderLock(path)
        } catch {
            guard case .inUse = error else { throw error }
            throw StateFolderError.served(path)
        }
    }

    func keys(of store: SQLiteAuthorityStore) async throws(AuthorityError) -> AuthorityKeys {
        try KeyRing.read(try await records(of: store))
    }

    func records(
        of store: SQLiteAuthorityStore
    ) async throws(AuthorityError) -> [KeyRecord] {
        try await store.read { transaction throws(AuthorityError) in try transaction.keys() }
    }

    private func exists(_ file: String) throws -> Bool {
        do throws(FileFailure) {
            _ = try PrivateFile.read(file, limit: 1, strictestMode: 0o666)
            return true
        } catch {
            switch error {
            case .missing: return false
            case .tooLarge: return true
            default: throw error
            }
        }
    }
}

enum StateFolderError: Error, Equatable, CustomStringConvertible {
    case initialised(String)
    case notInitialised(String)
    /// Two would each start a broker and do the same chores side by side.
    case served(String)
    /// A database without its key: none of its secrets could ever be read.
    case keyMissing(String)

    var description: String {
        switch self {
        case .initialised(let path): "\(path) holds an authority already; nothing was changed"
        case .notInitialised(let path):
            "\(path) holds no authority; `postern-authority init --admin NAME` makes one"
        case .served(let path): "another postern-authority serves from \(path) already"
        case .keyMissing(let path): "\(path) is missing; restore it from a backup"
        }
    }
}

/// The wall clock.
@Sendable
func systemClock() -> Timestamp { Timestamp(milliseconds: SystemClock.wallMilliseconds) }

/// For commands that run beside or without a service: the chores wait in the store.
struct NoCourier: Courier {
    let consumerAccess: ConsumerAccess? = nil
    func settle(_ line: String) async throws(AuthorityError) {}
    func nudge(_ line: String) {}
}
