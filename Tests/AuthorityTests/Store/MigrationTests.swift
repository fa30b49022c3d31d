import Foundation
import PostgresServers
import Testing

import AuthorityService

@Suite("Migration to PostgreSQL", .serialized)
struct MigrationTests {
    private let place: Place
    private let database: TestDatabase

    init() async throws {
        place = try Place()
        database = try await TestDatabase(on: .shared())
        #expect(try await place.initialise() == 0)
    }

    private func nameDatabase() throws { try place.configure("store = \"\(database.uri)\"\n") }
    private func nameFile() throws { try place.configure("") }

    /// The exit code, and what was said.
    private func migrate(_ arguments: String...) async throws -> (code: Int32, words: String) {
        let (process, log) = try place.start(["migrate"] + arguments)
        return (await process.end(), try place.text(log))
    }

    private func addUser(_ name: String) async throws -> Int32 {
        try await place.run("user", "add", name, "--password-file", place.password)
    }

    @Test("copies every record once, and leaves the file as it is", .timeLimit(.minutes(5)))
    func once() async throws {
        let unnamed = try await migrate()
        #expect(unnamed.code == 2 && unnamed.words.contains("name the database first"))
        try nameDatabase()
        #expect(try await place.run("user", "list") == 2)
        let file = URL(fileURLWithPath: "\(place.state)/authority.db")
        let before = try Data(contentsOf: file)
        let first = try await migrate()
        #expect(first.code == 0, "\(first.words)")
        #expect(first.words.contains("1 users"))
        #expect(try Data(contentsOf: file) == before)
        let again = try await migrate()
        #expect(again.code == 2)
        #expect(again.words.contains("/\(database.name) has an authority's records already"))
        // The same people, and a store of its own from here on.
        #expect(try await addUser("ada") == 2)
        #expect(try await addUser("bob") == 0)
        try nameFile()
        #expect(try await addUser("bob") == 0)
    }

    @Test("copies a backup, too", .timeLimit(.minutes(5)))
    func backup() async throws {
        let kept = "\(place.folder.path)/kept.db"
        #expect(try await place.run("backup", "--to", kept) == 0)
        #expect(try await addUser("bob") == 0)
        try nameDatabase()
        #expect(try await migrate("--from", kept).code == 0)
        #expect(try await addUser("bob") == 0)
    }

    @Test("is refused while a service runs on the file", .timeLimit(.minutes(5)))
    func served() async throws {
        let (service, log) = try place.start("serve")
        try await untilTrue { try place.text(log).contains("ready\n") }
        try nameDatabase()
        let refused = try await migrate()
        #expect(refused.code == 1 && refused.words.contains("runs with \(place.state)"))
        kill(service.processIdentifier, SIGTERM)
        try await untilTrue { try !service.isRunning && place.brokers().isEmpty }
        #expect(try await migrate().code == 0)
    }
}
