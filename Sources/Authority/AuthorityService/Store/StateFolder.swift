import AuthorityBroker
package import AuthorityCore
package import AuthorityStore
package import ConfigurationFiles
package import LinuxIO
package import Sessions

/// The folder with an authority's files: `authority.db`, `authority.key`, `broker/` for an embedded
/// broker, `tls/` for its own certificates. Only its owner may enter it. The records may be in a
/// database elsewhere that several authorities share; each of them has its own folder.
package struct StateFolder: Sendable {
    package let path: String
    package var store = StorePlace.file
    /// A path or `credential:NAME`; nil: `authority.key` in the folder.
    var masterKeyFile: String?

    package var database: String { "\(path)/authority.db" }
    /// What boards sent, if the records are in this folder.
    package var data: String { "\(path)/data.db" }
    /// The path of the master key. Outside of the service a credential has no path, and the error
    /// names the credential.
    package var masterKey: String {
        guard let masterKeyFile else { return "\(path)/authority.key" }
        let scheme = StateFolderError.credential
        guard masterKeyFile.hasPrefix(scheme),
            let folder = LinuxIO.Environment.value("CREDENTIALS_DIRECTORY"), !folder.isEmpty
        else { return masterKeyFile }
        return "\(folder)/\(masterKeyFile.dropFirst(scheme.count))"
    }
    var broker: String { "\(path)/broker" }
    package var certificates: CertificateFolder { CertificateFolder(path: "\(path)/tls") }

    /// If root runs this, as in an installed system, the process becomes the folder's owner. So the
    /// service owns the files that it makes. Read files that only root may read before this.
    package func enter() throws(SystemError) {
        try ProcessOwner.stepDown(toOwnerOf: path)
    }

    /// Makes the keys, the schema and the first administrator.
    ///
    /// - Throws: `StateFolderError.initialised` if there is an administrator already; then nothing
    ///   was changed. It continues an interrupted attempt.
    package func found(
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
            let authority = try await authority(on: store, rules)
            let user = NewUser(
                username: administrator, password: password, isAdministrator: true,
                mayClaim: true)
            _ = try await authority.addUser(user, actor: "init")
        } catch {
            await hold.release()
            // Another process made the key in the meantime.
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

    /// Makes the authority's keys if there are none. If two processes try, one of them does.
    private func makeKeys(
        in store: any ServiceStore, _ key: MasterKey, isNew: Bool
    ) async throws {
        if try await records(of: store).isEmpty {
            // Store the key before it wraps anything.
            if isNew { try key.keep(at: masterKey) }
            let keys = try KeyRing.make(at: systemClock())
            try await store.transact { transaction throws(AuthorityError) in
                guard try transaction.keys().isEmpty else { return }
                for key in keys { try transaction.insert(key) }
            }
        }
    }

    /// The existing master key, or a new one that is not stored yet.
    private func keyToFoundWith() throws -> (key: MasterKey, isNew: Bool) {
        do throws(FileFailure) {
            _ = try PrivateFile.read(masterKey, limit: 32, strictestMode: 0o777)
        } catch {
            guard case .missing = error else { throw error }
            guard try store != .file || !exists(database), masterKey.hasPrefix("/") else {
                throw StateFolderError.keyMissing(masterKey)
            }
            // If the key cannot be stored, no schema is made either.
            do throws(FileFailure) { try MasterKey.requireRoom(at: masterKey) } catch {
                throw StateFolderError.keyUnkept(masterKey, "\(error)")
            }
            return (try MasterKey.fresh(), true)
        }
        return (try MasterKey(at: masterKey), false)
    }

    /// Opens the store that `found` made.
    ///
    /// - Throws: `otherKey` if the store's secrets are wrapped by another master key.
    package func open() async throws -> any ServiceStore {
        try enter()
        guard try store != .file || exists(database) else {
            throw StateFolderError.notInitialised(path)
        }
        try PrivateFolder.prepare(path)
        let store = try await opened(wrapping: try MasterKey(at: masterKey))
        guard try await !records(of: store).isEmpty else { throw unfounded }
        return store
    }

    /// The reason why there are no records.
    package var unfounded: StateFolderError {
        store != .file && PrivateFile.isThere(database)
            ? .notMoved(recordPlace, database) : .notInitialised(recordPlace)
    }

    /// Locks the folder, so that only this process serves from it while the lock lives. Other
    /// commands need no lock: they only touch the database.
    package func lock() throws -> FolderLock {
        try enter()
        guard try store != .file || exists(database) else {
            throw StateFolderError.notInitialised(path)
        }
        try PrivateFolder.prepare(path)
        let lock = try lockForRestoring()
        if store == .file { try StoreExchange.forgetSecondNames(of: database) }
        return lock
    }

    /// The same for a folder that may have no database yet.
    package func lockForRestoring() throws -> FolderLock {
        do throws(FileFailure) {
            return try FolderLock(path)
        } catch {
            guard case .inUse = error else { throw error }
            throw StateFolderError.served(path)
        }
    }

    /// An authority without a broker or HTTP, for commands. Its jobs wait in the store.
    package func authority(
        on store: any ServiceStore, _ rules: AuthorityRules
    ) async throws -> Authority {
        Authority(
            store: store, cryptography: SystemCryptography(), worker: NoWorker(),
            keys: try await keys(of: store), rules: rules, clock: systemClock)
    }

    func keys(of store: any RecordStore) async throws -> AuthorityKeys {
        try KeyRing.read(try await records(of: store))
    }

    package func records(of store: any RecordStore) async throws -> [KeyRecord] {
        do throws(AuthorityError) {
            return try await store.read { transaction throws(AuthorityError) in
                try transaction.keys()
            }
        } catch {
            guard case .failed(layer: MasterKey.layer, _) = error else { throw error }
            // Without a key file the key is a new one in memory, so the store's own key is missing.
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

package enum StateFolderError: Error, Equatable, CustomStringConvertible {
    case initialised(String)
    case notInitialised(String)
    /// The same for a database, and the file that may have the records for it.
    case notMoved(String, String)
    /// Another process serves from this folder: both would start a broker and do the same jobs.
    case served(String)
    /// Authorities serve from this database, here or on other machines.
    case servedFrom(String)
    /// The database already has records, which a copy would overwrite.
    case occupied(String)
    /// The database's key is missing, so none of its secrets can be read.
    case keyMissing(String)
    /// The path for a new key, and why it cannot be stored there.
    case keyUnkept(String, String)
    /// The key's file, and the store whose secrets it does not open.
    case otherKey(String, String)
    /// The fault of the database's address.
    case badStore(String)
    /// The settings that differ from those of the other authorities on the store.
    case otherSettings([String])
    /// Another process holds this lock of the store and does not release it.
    case busy(String)
    /// Passwords are off, and no administrator has another way to log in.
    case noWayIn

    /// The prefix in `master_key_file` for a credential.
    static let credential = "credential:"

    package var description: String {
        switch self {
        case .noWayIn: """
            `passwords = false` in [login] would lock every administrator out: none has a passkey, \
            an identity or a recovery code. Log in with a password and add a passkey first, or run \
            `postern-authority user recovery-code NAME`
            """
        case .initialised(let path): "\(path) has an authority already; nothing was changed"
        case .notInitialised(let path):
            "\(path) has no authority; run `postern-authority init --admin NAME` to make one"
        case .notMoved(let place, let file): """
            \(place) has no authority, and \(file) has one. To copy its records, run \
            `postern-authority migrate`. To make a new authority, move that file away first
            """
        case .served(let path): "another postern-authority runs with \(path) already"
        case .servedFrom(let place): """
            an authority runs with \(place); nothing was changed. Stop every replica first \
            (`systemctl stop postern-authority` on each machine). If a replica's machine has \
            failed, wait 30 seconds
            """
        case .occupied(let place): """
            \(place) has an authority's records already; nothing was changed. Records are copied \
            only into an empty database: as PostgreSQL's superuser, rename this database, make \
            a new one, and try again (BACKUP.md, Restoring into PostgreSQL)
            """
        case .keyMissing(let path) where path.hasPrefix(Self.credential): """
            systemd gives \(path) only to the service. Run this command as \
            `systemd-run --pipe --wait --collect -p User=postern-authority \
            -p LoadCredentialEncrypted=\(path.dropFirst(Self.credential.count)):FILE \
            postern-authority …` (REPLICAS.md)
            """
        case .keyUnkept(let path, let fault): """
            the master key cannot be written (\(fault)); nothing was made. If the store has an \
            authority already, copy its key to \(path); otherwise make a key as root: \
            head -c 32 /dev/urandom | install -o postern-authority -g postern-authority \
            -m 0600 /dev/stdin \(path)
            """
        case .keyMissing(let path):
            "\(path) is missing; restore it from a backup, or copy it from another authority of "
                + "the same store"
        case .otherKey(let path, let store): """
            \(path) is not the master key of \(store); copy the right key from another authority \
            of this store, or restore it from a backup
            """
        case .badStore(let text): "store: \(text)"
        case .otherSettings(let differences):
            "\(differences.joined(separator: "; ")): \(SettingAgreement.advice)"
        case .busy(let what): "another process runs `\(what)` for this store; try again later"
        }
    }
}

/// The worker of commands, which have no broker: the jobs wait in the store.
struct NoWorker: JobWorker {
    let consumerAccess: ConsumerAccess? = nil
    func settle(_ line: String) async throws(AuthorityError) {}
    func wake(_ line: String) {}
}
