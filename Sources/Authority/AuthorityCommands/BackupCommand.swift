import ArgumentParser
import AuthorityBroker
import AuthorityCore
import AuthorityService
import AuthorityStore
import ConfigurationFiles
import LinuxIO
import Sessions
import Wire

/// Copies the store into one file, also while `serve` runs.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Writes the store into one file, also while it is in use.",
        discussion: """
            The file is a snapshot of the store. It is checked before it gets its name. Its \
            secrets are encrypted with the master key, which is not in the file. Keep the master \
            key in another place: without it, a backup is of no use. A backup does not \
            know which boards were set up or revoked later: read BACKUP.md before you restore one.
            """)

    @ParentCommand var program: AuthorityProgram
    @OptionGroup var place: PlaceOptions
    @Option(help: "The file to write. The service's user needs write access.") var to: String
    @Option(help: "A second file to write, for the master key.") var withKey: String?
    @Flag(help: "Replace files that exist already.") var replace = false
    @Flag(help: "As JSON.") var json = false

    func run() async throws {
        let settings = try place.settings(program.place)
        try await AuthorityCommands.run {
            let key = StateFolder(settings).masterKey
            let source = try StoreSource(settings)
            try checkKeyFile()
            let began = systemClock()
            let file = BackupFile(path: to)
            let content = try await file.write(replaces: replace) { unfinished in
                try await source.copy(to: unfinished)
            }
            try checkKeyFile()
            if let withKey { try PrivateFile.write(withKey, try PrivateFile.read(key, limit: 32)) }
            say("✓ \(to): \(content.words)")
            say(withKey.map { "✓ \($0): the master key; keep the two files in different places" }
                ?? "! the master key is not in it: keep \(key) too, in another place")
            if json {
                let taken: [String: JSONValue] = [
                    "file": .string(to), "takenAt": .time(began), "store": .string(source.kind),
                    "keyFile": withKey.map(JSONValue.string) ?? .null,
                ]
                print(JSONValue.object(taken.merging(content.json) { $1 }).text)
            }
        }
    }

    /// Checks the key's file. Run it before writing, and again after the backup has its name,
    /// because both names may be of one file.
    private func checkKeyFile() throws {
        guard let withKey else { return }
        guard withKey != to, !PrivateFile.isSame(withKey, as: to) else {
            throw BackupError.usage("the master key and the backup need two different files")
        }
        if !replace, PrivateFile.isThere(withKey) { throw BackupError.exists(withKey) }
    }
}

/// The configured store, as the source of a copy.
struct StoreSource {
    private let settings: ServiceSettings
    private let folder: StateFolder

    init(_ settings: ServiceSettings) throws {
        self.settings = settings
        folder = StateFolder(settings)
        try folder.enter()
        if case .file = settings.store, !PrivateFile.isThere(folder.database) {
            throw StateFolderError.notInitialised(folder.path)
        }
    }

    var kind: String {
        switch settings.store {
        case .file: "sqlite"
        case .postgres: "postgres"
        }
    }

    /// Copies the store's current state into an empty file.
    func copy(to target: String) async throws {
        switch settings.store {
        case .file: try StoreFile(path: folder.database).copy(to: target)
        case .postgres:
            let store = try await folder.openedDatabase(
                wrapping: try MasterKey(at: folder.masterKey))
            // An empty copy could replace a backup that has records.
            guard try await !folder.records(of: store).isEmpty else { throw folder.unfounded }
            _ = try await store.save(to: StoreFile(path: target))
            try store.close()
        }
    }
}
