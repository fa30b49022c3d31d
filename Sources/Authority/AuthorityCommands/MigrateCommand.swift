import ArgumentParser
import AuthorityService
import AuthorityStore
import ConfigurationFiles
import LinuxIO
import Sessions
import Wire

/// Copies the records of a stopped authority from SQLite into PostgreSQL.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Copies an authority's records from SQLite into PostgreSQL.",
        discussion: """
            Stop the service, and name an empty database as `store` in authority.toml. All \
            records are copied in one transaction, and the rows of each table are counted, so \
            either all of them are copied or none. Every session stays valid. The SQLite file \
            does not change. Run the service with only one of the two: see BACKUP.md, Moving to \
            PostgreSQL.
            """)

    @ParentCommand var program: AuthorityProgram
    @OptionGroup var place: PlaceOptions
    @Option(help: "A file that `backup` wrote, instead of authority.db in the state folder.")
    var from: String?
    @Flag(help: "As JSON: the rows of each table.") var json = false

    func run() async throws {
        let settings = try place.settings(program.place)
        try await AuthorityCommands.run {
            let folder = StateFolder(settings)
            guard folder.store != .file else {
                throw BackupError.usage("""
                    name the database first: store = "postgres://…" in authority.toml
                    """)
            }
            try folder.enter()
            let source = from ?? folder.database
            guard from != nil || PrivateFile.isThere(source) else {
                throw StateFolderError.notInitialised(folder.path)
            }
            let lock = try folder.lockForRestoring()
            let content = try BackupFile(path: source).verify(key: folder.masterKey)
            say("✓ \(source): \(content.words)")
            let rows = try await folder.fillDatabase(from: StoreFile(path: source))
            _ = consume lock
            say("✓ \(folder.recordPlace) has all of its rows")
            say("Next: start the service. Never run the service with \(source) again.")
            guard json else { return }
            print(JSONValue.object([
                "to": .string(folder.recordPlace),
                "rows": .object(rows.mapValues { .integer(Int64($0)) }),
            ]).text)
        }
    }
}
