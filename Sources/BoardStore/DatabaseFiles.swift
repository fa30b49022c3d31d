import LinuxIO
import Sessions

/// The files of the store in its folder, and how they come to be and are set aside.
///
/// A new database is built as `board.db.new` and renamed once it is whole, so that a power
/// cut never leaves half a database, and an empty `board.db` is always a damaged one. The
/// file `board.db.new` also says that a new database is due: without it, a storage key that
/// stands alone means that the database was lost.
struct DatabaseFiles {
    let folder: String
    var name = "board.db"
    var database: String { "\(folder)/\(name)" }
    var next: String { database + ".new" }
    var companions: [String] { ["-wal", "-shm", "-journal"] }

    /// Makes or checks the folder, and checks what stands in it.
    func prepare() throws(StoreError) {
        try onFile { () throws(FileFailure) in try PrivateFolder.prepare(folder) }
        for suffix in [""] + companions { _ = try isThere(database + suffix) }
    }

    /// Throws when the file is there with a mode or an owner that it must not have.
    func isThere(_ path: String) throws(StoreError) -> Bool {
        do throws(FileFailure) {
            try PrivateFile.check(path)
            return true
        } catch .missing {
            return false
        } catch {
            throw StoreError(error)
        }
    }

    /// Sees to it that there is a database.
    ///
    /// Of two processes at their first start one waits for the other's whole making: a file
    /// renamed while another has it open would be lost to it.
    func found(
        _ file: KeyFile, _ founding: (() throws(StoreError) -> SecretBytes)?
    ) throws(StoreError) {
        guard try !isThere(database) else { return }
        let turn = try onFile { () throws(FileFailure) in try FolderTurn(at: folder) }
        if try !isThere(database) {
            try refuseLoss(file)
            try create(file, founding)
        }
        _ = consume turn
    }

    /// Throws when what is left shows that there was a database before.
    private func refuseLoss(_ file: KeyFile) throws(StoreError) {
        if try isThere(database + "-wal") {
            throw .unreadable("there is a log, but no board.db")
        }
        if IdentityCopy.isThere(in: folder), name == "board.db" {
            throw .unreadable("there is the copy of an identity, but no board.db")
        }
        if try isThere(next) { return }
        if file.isThere || file.isTurning {
            throw .unreadable("there is a storage key, but no board.db")
        }
    }

    /// Builds a database and gives it its name.
    private func create(
        _ file: KeyFile, _ founding: (() throws(StoreError) -> SecretBytes)?
    ) throws(StoreError) {
        try onFile { () throws(FileFailure) in try PrivateFile.touch(next) }
        try build(file, founding)
        try onFile { () throws(FileFailure) in try PrivateFile.move(next, to: database) }
    }

    private func build(
        _ file: KeyFile, _ founding: (() throws(StoreError) -> SecretBytes)?
    ) throws(StoreError) {
        let connection = try Connection(next)
        try connection.run(Schema.settings)
        try connection.run(Schema.beforeTables)
        try connection.run("BEGIN EXCLUSIVE")
        if try connection.number("PRAGMA application_id") != Schema.application {
            var key = try file.load()
            if key == nil { key = try file.create() }
            guard let key else { throw .keyMissing(source: file.name) }
            try connection.run(Schema.tables)
            let ring = try KeyTable.fill(connection, KeyWrapping(key, source: file.name))
            if let founding { try put(try founding(), under: ring.identity, into: connection) }
        }
        try connection.run("COMMIT")
    }

    private func put(
        _ identity: SecretBytes, under key: DataKey, into connection: Connection
    ) throws(StoreError) {
        let record = VaultRecord.identity
        let insert = try Statement(connection, "INSERT INTO vault (name, sealed) VALUES (?1, ?2)")
        insert.bind(1, record.rawValue)
        let place = Place.vault(record, generation: key.generation)
        try insert.run(2, blob: try RecordBox.seal(identity, under: key.secret, at: place))
    }

    /// Removes the damaged databases that were set aside: what they hold opens with the same
    /// storage key.
    func removeDamaged() throws(StoreError) {
        for name in try onFile({ () throws(FileFailure) in try PrivateFolder.names(in: folder) })
        where name.hasPrefix("board.db.damaged-") {
            try onFile { () throws(FileFailure) in try PrivateFile.remove(folder + "/" + name) }
        }
    }

    /// Gives all files of a database that cannot be used a name with the time in it.
    ///
    /// Can be repeated after a power cut; what said that a new one is due comes last.
    func setAside(at time: Timestamp) throws(StoreError) {
        for suffix in [""] + companions { try moveAside(suffix, at: time) }
        try onFile { () throws(FileFailure) in try PrivateFile.touch(next) }
    }

    func moveAside(_ suffix: String, at time: Timestamp) throws(StoreError) {
        do throws(FileFailure) {
            let other = "\(database).damaged-\(time.milliseconds)\(suffix)"
            try PrivateFile.move(database + suffix, to: other)
        } catch .missing {
            return
        } catch {
            throw StoreError(error)
        }
    }

    func onFile<T: ~Copyable>(
        _ body: () throws(FileFailure) -> T
    ) throws(StoreError) -> T {
        do throws(FileFailure) {
            return try body()
        } catch {
            throw StoreError(error)
        }
    }
}
