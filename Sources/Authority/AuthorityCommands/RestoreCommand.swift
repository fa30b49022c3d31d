import ArgumentParser
import AuthorityBroker
import AuthorityCore
import AuthorityService
import AuthorityStore
import ConfigurationFiles
import LinuxIO
import Sessions
import Wire

/// Restores an earlier state of the store, and settles the effects.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restores a backup, or settles a restored one.",
        discussion: """
            All changes after the backup are lost. Boards that were set up later are not known, \
            and boards that were revoked later are valid again. Boards that are ahead of the \
            store get "not issued here". They keep their session and queue until they are set up \
            again. Use --mark if the store was restored in another way: a copied file, a \
            machine's snapshot, pg_restore. Run it before the first start. Run --settle when all \
            boards are set up again: boards that are still ahead are then refused.
            """)

    @ParentCommand var program: AuthorityProgram
    @OptionGroup var place: PlaceOptions
    @Option(help: "A file that `backup` wrote.") var from: String?
    @Option(help: "The backup's master key, if this machine has none.") var withKey: String?
    @Flag(help: "Note that the store was restored in another way.") var mark = false
    @Flag(help: "Settle a restored store. Boards that are still ahead are then refused.")
    var settle = false
    @Flag(help: "Shows which boards were found ahead.") var list = false
    @Flag(help: "As JSON.") var json = false

    func run() async throws {
        let settings = try place.settings(program.place)
        try await AuthorityCommands.run {
            switch (from, mark, settle, list) {
            case (let file?, false, false, false):
                try await Restoration(settings, from: file, key: withKey).run(json: json)
            case (nil, true, false, false):
                try await Self.mark(settings)
                say("✓ noted: boards may be ahead of this store")
                Restoration.sayNext()
            case (nil, false, true, false):
                try await Self.settle(settings)
            case (nil, false, false, true):
                let authority = try await LocalAuthority(settings).authority
                show(try await authority.aheadBoards(), of: try await authority.aheadCount())
            default:
                throw BackupError.usage("give one of --from FILE, --mark, --settle, --list")
            }
        }
    }

    /// No authority may serve meanwhile: it would end sessions as idle that were in use at the
    /// backup.
    private static func mark(_ settings: ServiceSettings) async throws {
        let folder = StateFolder(settings)
        let lock = try folder.lock()
        let store = try await folder.open()
        let hold = try await Presence.alone(in: store, folder)
        try await LocalAuthority(store, folder, settings).noteRestored()
        await hold.release()
        try store.close()
        _ = consume lock
    }

    private static func settle(_ settings: ServiceSettings) async throws {
        guard let count = try await LocalAuthority(settings).settleRestored() else {
            say("✓ nothing to settle: no restored state is noted, and no board was found ahead")
            return
        }
        say("✓ settled: tokens that this store did not issue are refused from now on")
        if count > 0 {
            say("! found ahead and not set up again: \(count); these boards are refused too")
        }
    }

    /// `count` is the number of all boards; `boards` may be only the first of them.
    private func show(_ boards: [AheadBoard], of count: Int) {
        guard !json else {
            let results = boards.map { board in
                JSONValue.object([
                    "installationId": .string(board.board.description),
                    "sign": .string(board.sign.rawValue), "since": .time(board.since),
                ])
            }
            print(JSONValue.object([
                "results": .array(results), "count": .integer(Int64(count)),
            ]).text)
            return
        }
        for board in boards { print("\(board.board)  \(board.sign.rawValue)") }
        if count > boards.count { say("! these are the first \(boards.count) of \(count)") }
        say(boards.isEmpty ? "✓ no board was found ahead of this store"
            : "! set these boards up again: run `postern-agent pair --new` on each, and claim it")
    }
}

/// The steps that replace the store by a backup. Each can be interrupted: the old store stays until
/// the new one is in place.
struct Restoration {
    private let settings: ServiceSettings
    private let folder: StateFolder
    private let backup: BackupFile
    private let key: String?

    init(_ settings: ServiceSettings, from path: String, key: String?) {
        self.settings = settings
        folder = StateFolder(settings)
        backup = BackupFile(path: path)
        self.key = key
    }

    private var masterKey: String { folder.masterKey }
    private var incoming: String { "\(folder.database).incoming" }

    func run(json: Bool) async throws {
        try folder.enter()
        try PrivateFolder.prepare(folder.path)
        let lock = try folder.lockForRestoring()
        let content = try backup.verify(key: try keyInUse())
        say("✓ \(backup.path): \(content.words)")
        try installKey()
        var kept: String?
        if case .file = settings.store {
            try await prepareIncoming()
            kept = try exchange()
        } else {
            try await fill()
        }
        _ = consume lock
        if let kept { say("✓ the earlier store is kept as \(kept)") }
        say("✓ the backup is in place")
        Self.sayNext()
        if json {
            let told: [String: JSONValue] = [
                "file": .string(backup.path), "kept": kept.map(JSONValue.string) ?? .null,
            ]
            print(JSONValue.object(told.merging(content.json) { $1 }).text)
        }
    }

    static func sayNext() {
        say("""
            Next: start the service. Boards that were set up or refreshed after the backup get
            "not issued here" and keep their session; `restore --list` shows them. Set up each
            of them again (`postern-agent pair --new`, then claim). Boards that were revoked
            after the backup are valid again: revoke them again. Then run
            `postern-authority restore --settle`.
            """)
    }

    /// The path of the key that opens the backup.
    private func keyInUse() throws -> String {
        guard PrivateFile.isThere(masterKey) else {
            guard let key else { throw StateFolderError.keyMissing(masterKey) }
            return key
        }
        if let key {
            let both = (
                SecretBytes(try PrivateFile.read(key, limit: 32)),
                SecretBytes(try PrivateFile.read(masterKey, limit: 32)))
            guard both.0.matches(both.1) else { throw BackupError.keyInPlace(masterKey) }
        }
        return masterKey
    }

    private func installKey() throws {
        guard !PrivateFile.isThere(masterKey), let key else { return }
        try PrivateFile.write(masterKey, try PrivateFile.read(key, limit: 32))
    }

    /// Copies the backup into a database. The note of the restore is part of the same transaction.
    private func fill() async throws {
        try await prepareIncoming()
        defer { try? PrivateFile.remove(incoming) }
        _ = try await folder.fillDatabase(from: StoreFile(path: incoming))
    }

    /// Makes the file that will be the store: the backup, with a note that it was restored.
    private func prepareIncoming() async throws {
        for name in [incoming, "\(incoming)-wal", "\(incoming)-shm"] {
            try PrivateFile.remove(name)
        }
        _ = try NewPrivateFile(incoming)
        try StoreFile(path: backup.path).copy(to: incoming)
        let store = try SQLiteAuthorityStore(
            path: incoming, wrapping: try MasterKey(at: masterKey))
        try await LocalAuthority(store, folder, settings).noteRestored()
        try store.close()
        try StoreFile(path: incoming).settle()
        for name in ["\(incoming)-wal", "\(incoming)-shm"] { try PrivateFile.remove(name) }
        try PrivateFile.sync(incoming)
    }

    /// Moves the new file into place, and renames the old one. Returns the old file's new path.
    private func exchange() throws -> String? {
        let isThere = PrivateFile.isThere(folder.database)
        var time = systemClock().seconds
        while PrivateFile.isThere("\(folder.database).before-\(time)") { time += 1 }
        let kept = "\(folder.database).before-\(time)"
        try StoreExchange(database: folder.database, incoming: incoming, kept: kept).run()
        return isThere ? kept : nil
    }
}
