import ArgumentParser
import ConfigurationFiles

/// The records of a house, moved from its own file into a database that several may share.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Moves a running house into PostgreSQL.",
        discussion: """
            Name the database first, as `store` in authority.toml; the service that runs goes on \
            with its file. From the moment of the copy that file takes no write any more, so \
            nothing is answered that would be lost: boards repeat their requests until the \
            service is started anew, and then PostgreSQL answers. Every session stays valid. \
            If the copy fails, the file stays the store. A file moves into one database alone.
            --undo goes back to the file as it was at the move, and closes the database: no \
            service on it writes any more. What was done there since is lost, which --discard \
            must allow; BACKUP.md says how to keep it.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable { case sqlite, postgres }

    @ParentCommand var program: AuthorityProgram
    @OptionGroup var place: PlaceOptions
    @Option(help: "Where the records are: sqlite.") var from: Kind?
    @Option(help: "Where they go: postgres.") var to: Kind?
    @Flag(help: "Takes a move back: the file is served from again.") var undo = false
    @Flag(help: "With --undo: what was done in the database since may be lost.")
    var discard = false
    @Flag(help: "With --undo: the database is gone for good, and cannot be closed.")
    var withoutDatabase = false
    @Flag(help: "As JSON.") var json = false

    func run() async throws {
        let settings = try place.settings(program.place)
        try await AuthorityService.run {
            let move = try Move(settings)
            switch (from, to, undo, discard, withoutDatabase) {
            case (.sqlite?, .postgres?, false, false, false): try await move.run(json: json)
            case (nil, nil, true, let discard, false): try await move.takeBack(losing: discard)
            case (nil, nil, true, false, true): try await move.takeBackAlone()
            default: throw BackupError.usage("""
                say --from sqlite --to postgres, or --undo (with --discard or \
                --without-database)
                """)
            }
        }
    }
}
