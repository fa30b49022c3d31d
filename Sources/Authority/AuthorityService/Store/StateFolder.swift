import AuthorityCore
import AuthorityStore
import ConfigurationFiles
import LinuxIO
import Sessions

/// An authority's files: `authority.db`, `authority.key` beside it, `broker/` for an embedded
/// broker, `tls/` for certificates of its own. Nobody else may enter the folder. The records may
/// stand in a database elsewhere, which others share; each of them has a folder of its own.
struct StateFolder: Sendable {
    let path: String
    var store = StorePlace.file
    /// A path or `credential:NAME`; nil: in the folder.
    var masterKeyFile: String?

    var database: String { "\(path)/authority.db" }
    /// Outside of the service a credential has no path, and is missing under its own name.
    var masterKey: String {
        guard let masterKeyFile else { return "\(path)/authority.key" }
        let scheme = StateFolderError.credential
        guard masterKeyFile.hasPrefix(scheme),
            let folder = LinuxIO.Environment.value("CREDENTIALS_DIRECTORY"), !folder.isEmpty
        else { return masterKeyFile }
        return "\(folder)/\(masterKeyFile.dropFirst(scheme.count))"
    }
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
        let (key, isNew) = try keyToFoundWith()
        let store = try await opened(wrapping: key)
        let hold = try await Self.only("init", of: store)
        do {
            let fault = unfounded
            if case .notMoved = fault, try await records(of: store).isEmpty { throw fault }
            try await makeKeys(in: store, key, isNew: isNew)
            guard try await Self.isWithoutUsers(store) else {
                throw StateFolderError.initialised(recordPlace)
            }
            let authority = Authority(
                store: store, cryptography: SystemCryptography(), courier: NoCourier(),
                keys: try await keys(of: store), rules: rules, clock: systemClock)
            let user = NewUser(
                username: administrator, password: password, isAdministrator: true,
                mayClaim: true)
            _ = try await authority.addUser(user, actor: "init")
        } catch {
            await hold.release()
            // Made by another since we looked for it.
            if isNew, case StateFolderError.otherKey = error {
                throw StateFolderError.initialised(recordPlace)
            }
            throw error
        }
        await hold.release()
        try store.close()
    }

    static func isWithoutUsers(
        _ store: any ServiceStore
    ) async throws(AuthorityError) -> Bool {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.users().isEmpty
        }
    }

    /// Makes the authority's keys unless somebody has; of two at once one does.
    private func makeKeys(
        in store: any ServiceStore, _ key: MasterKey, isNew: Bool
    ) async throws {
        if try await records(of: store).isEmpty {
            // Before anything is wrapped by it.
            if isNew { try key.keep(at: masterKey) }
            let keys = try KeyRing.make(at: systemClock())
            try await store.transact { transaction throws(AuthorityError) in
                guard try transaction.keys().isEmpty else { return }
                for key in keys { try transaction.insert(key) }
            }
        }
    }

    /// The master key that is there, or one that is yet to be kept.
    private func keyToFoundWith() throws -> (key: MasterKey, isNew: Bool) {
        do throws(FileFailure) {
            _ = try PrivateFile.read(masterKey, limit: 32, strictestMode: 0o777)
        } catch {
            guard case .missing = error else { throw error }
            guard try store != .file || !exists(database), masterKey.hasPrefix("/") else {
                throw StateFolderError.keyMissing(masterKey)
            }
            // Where it cannot be kept, no schema is made either.
            do throws(FileFailure) { try MasterKey.requireRoom(at: masterKey) } catch {
                throw StateFolderError.keyUnkept(masterKey, "\(error)")
            }
            return (try MasterKey.fresh(), true)
        }
        return (try MasterKey(at: masterKey), false)
    }

    /// Opens what `found` made.
    ///
    /// - Throws: `otherKey` where the store's secrets are wrapped by another master key.
    func open() async throws -> any ServiceStore {
        try enter()
        guard try store != .file || exists(database) else {
            throw StateFolderError.notInitialised(path)
        }
        try PrivateFolder.prepare(path)
        let store = try await opened(wrapping: try MasterKey(at: masterKey))
        guard try await !records(of: store).isEmpty else { throw unfounded }
        return store
    }

    /// Why there is nothing where the records should be.
    var unfounded: StateFolderError {
        store != .file && PrivateFile.isThere(database)
            ? .notMoved(recordPlace, database) : .notInitialised(recordPlace)
    }

    /// Makes this process the one that serves from the folder, for as long as the lock lives.
    /// Other commands do without: all they touch is the database.
    func lock() throws -> FolderLock {
        try enter()
        guard try store != .file || exists(database) else {
            throw StateFolderError.notInitialised(path)
        }
        try PrivateFolder.prepare(path)
        let lock = try lockForRestoring()
        if store == .file { try StoreExchange.forgetSecondNames(of: database) }
        return lock
    }

    /// The same of a folder that may hold no database yet.
    func lockForRestoring() throws -> FolderLock {
        do throws(FileFailure) {
            return try FolderLock(path)
        } catch {
            guard case .inUse = error else { throw error }
            throw StateFolderError.served(path)
        }
    }

    func keys(of store: any AuthorityStore) async throws -> AuthorityKeys {
        try KeyRing.read(try await records(of: store))
    }

    func records(of store: any AuthorityStore) async throws -> [KeyRecord] {
        do throws(AuthorityError) {
            return try await store.read { transaction throws(AuthorityError) in
                try transaction.keys()
            }
        } catch {
            guard case .failed(layer: MasterKey.layer, _) = error else { throw error }
            // One that was made a moment ago is nobody's.
            guard PrivateFile.isThere(masterKey) else {
                throw StateFolderError.keyMissing(masterKey)
            }
            throw StateFolderError.otherKey(masterKey, recordPlace)
        }
    }

    func exists(_ file: String) throws -> Bool {
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
    /// The same of a database, and the file whose records it was perhaps to have.
    case notMoved(String, String)
    /// Two would each start a broker and do the same chores side by side.
    case served(String)
    /// Authorities serve from this database, here or on other machines.
    case servedFrom(String)
    /// The database whose records others would be put over.
    case occupied(String)
    /// A database without its key: none of its secrets could ever be read.
    case keyMissing(String)
    /// Where a new key would be kept, and why it cannot be.
    case keyUnkept(String, String)
    /// The key's file, and the store that it does not open.
    case otherKey(String, String)
    /// What is wrong with the database's address.
    case badStore(String)
    /// In what this authority differs from the others on its store.
    case otherSettings([String])
    /// Another process does this for the store, and does not come to an end.
    case busy(String)

    /// How `master_key_file` names a credential.
    static let credential = "credential:"

    var description: String {
        switch self {
        case .initialised(let path): "\(path) holds an authority already; nothing was changed"
        case .notInitialised(let path):
            "\(path) holds no authority; `postern-authority init --admin NAME` makes one"
        case .notMoved(let place, let file): """
            \(place) holds no authority, and \(file) has one: `postern-authority migrate` copies \
            its records. For another authority there, put that file elsewhere first
            """
        case .served(let path): "another postern-authority serves from \(path) already"
        case .servedFrom(let place): """
            an authority serves from \(place); nothing was changed. Stop every replica first \
            (`systemctl stop postern-authority` on each machine); one whose machine is gone \
            counts for half a minute more
            """
        case .occupied(let place): """
            \(place) has an authority's records already; nothing was changed. Records are copied \
            into an empty database: as PostgreSQL's superuser give that one another name and make \
            a new one, and try again (BACKUP.md, Restoring into PostgreSQL)
            """
        case .keyMissing(let path) where path.hasPrefix(Self.credential): """
            \(path) is given by systemd, and to the service alone. Run this as \
            `systemd-run --pipe --wait --collect -p User=postern-authority \
            -p LoadCredentialEncrypted=\(path.dropFirst(Self.credential.count)):FILE \
            postern-authority …` (REPLICAS.md)
            """
        case .keyUnkept(let path, let fault): """
            the master key cannot be kept (\(fault)); nothing was made. Where the store has an \
            authority already, copy its key to \(path); else make one as root: \
            head -c 32 /dev/urandom | install -o postern-authority -g postern-authority \
            -m 0600 /dev/stdin \(path)
            """
        case .keyMissing(let path):
            "\(path) is missing; restore it from a backup, or copy it from another authority of "
                + "the same store"
        case .otherKey(let path, let store): """
            \(path) is not the master key that the secrets in \(store) are wrapped by; copy that \
            one here from another authority of this store, or restore it from a backup
            """
        case .badStore(let text): "store: \(text)"
        case .otherSettings(let differences):
            "\(differences.joined(separator: "; ")): \(SettingAgreement.advice)"
        case .busy(let what): "another process is at `\(what)` for this store; try again"
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
