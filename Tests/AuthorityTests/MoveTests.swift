import AuthorityCore
import AuthorityStore
import Foundation
import GRDB
import HTTPClient
import PostgreSQLStore
import PostgresServers
import Sessions
import Testing

@testable import AuthorityService

@Suite("A service whose records move", .serialized)
struct MovingServiceTests {
    @Test("says so while they are on their way, stays, and ends once they are elsewhere",
          .timeLimit(.minutes(2)))
    func service() async throws {
        let place = try Place()
        #expect(try await place.initialise() == 0)
        let (service, log) = try place.start("serve")
        try await untilTrue { try place.text(log).contains("ready\n") }
        let file = StoreFile(path: "\(place.state)/authority.db")
        let target = Departure.Target(id: "7", place: "postgres:///elsewhere")
        try file.freeze(at: systemClock(), for: target)
        try await untilTrue { try await health(place) == "503 store-moved" }
        try file.thaw(wrapping: MasterKey.fresh())
        try await untilTrue { try await health(place) == "200 ok" }
        try file.freeze(at: systemClock(), for: target)
        try file.noteArrival()
        #expect(await service.end() == 78)
        let last = try place.text(log).split(separator: "\n").last.map(String.init) ?? ""
        #expect(last.hasPrefix("moved store: \(place.state): the records have moved to "))
        #expect(last.contains(target.place))
        #expect(!(try place.text(log).contains("SQLite 19")))
        try await untilTrue { try place.brokers().isEmpty }
        #expect(try await place.run("serve") == 78)
        // Nobody is there to be told that a move was given up; the database may be gone, too.
        #expect(try await place.run("migrate", "--undo") == 2)
        #expect(try await place.run("migrate", "--undo", "--without-database") == 0)
        #expect(try await place.run("user", "list") == 0)
    }

    private func health(_ place: Place) async throws -> String {
        let answer = try await HTTPRequest(
            "GET", "http://127.0.0.1:\(place.ports.http)/postern/v1/health").answer()
        let body = String(decoding: answer.body, as: UTF8.self)
        let word = body.split(separator: "\"").dropFirst(3).first ?? ""
        return "\(answer.status) \(word)"
    }
}

@Suite("Migration of a house", .serialized)
struct HouseMigrationTests {
    private let place: Place
    private let databases: [TestDatabase]

    init() async throws {
        place = try Place()
        databases = [try await TestDatabase(on: .shared()), try await TestDatabase(on: .shared())]
        #expect(try await place.initialise() == 0)
    }

    private func line(_ number: Int) -> String { "store = \"\(databases[number].uri)\"\n" }

    private func name(_ number: Int?) throws {
        try place.configure(number.map(line) ?? "")
    }

    /// The exit code, and what was said.
    private func migrate(_ arguments: String...) async throws -> (Int32, String) {
        let (process, log) = try place.start(["migrate"] + arguments)
        return (await process.end(), try place.text(log))
    }

    private func move() async throws -> (Int32, String) {
        try await migrate("--from", "sqlite", "--to", "postgres")
    }

    private func addUser(_ name: String) async throws -> Int32 {
        try await place.run("user", "add", name, "--password-file", place.password)
    }

    @Test("goes into one database alone, and says so the second time", .timeLimit(.minutes(2)))
    func once() async throws {
        try name(0)
        #expect(try await move().0 == 0)
        let again = try await move()
        #expect(again.0 == 0)
        #expect(again.1.contains("already moved on 20"))
        #expect(again.1.contains("has 1 users"))
        try name(1)
        let other = try await move()
        #expect(other.0 == 2)
        #expect(other.1.contains("/\(databases[0].name) on 20"))
        try name(nil)
        let nowhere = try await move()
        #expect(nowhere.0 == 2)
        #expect(nowhere.1.contains("/\(databases[0].name) on 20"))
        #expect(nowhere.1.contains("Name the database first"))
        try name(1)
        let foreign = try await migrate("--undo")
        #expect(foreign.0 == 2)
        #expect(try await addUser("eve") == 2)
        try name(0)
        #expect(try await addUser("bob") == 0)
        let kept = "\(place.folder.path)/kept.db"
        #expect(try await place.run("backup", "--to", kept) == 0)
        try name(nil)
        #expect(try await place.run("user", "list") == 78)
        #expect(try await place.run("restore", "--from", kept) == 78)
        #expect(try await migrate("--undo").0 == 2)
    }

    @Test("takes a file with it that an earlier version wrote", .timeLimit(.minutes(2)))
    func earlier() async throws {
        let file = try DatabasePool(path: "\(place.state)/authority.db")
        try await file.write { database in
            try database.execute(sql: """
                DROP TABLE gaps; DROP TABLE ahead; DROP INDEX sessions_off_boards;
                DELETE FROM grdb_migrations WHERE identifier IN ('gaps', 'people');
                """)
        }
        try file.close()
        try name(0)
        let moved = try await move()
        #expect(moved.0 == 0, "\(moved.1)")
        #expect(try await addUser("bob") == 0)
    }

    @Test("is refused where somebody's records are already, and changes nothing",
          .timeLimit(.minutes(2)))
    func occupied() async throws {
        let other = try Place()
        try other.configure(line(0))
        #expect(try await other.initialise("eve") == 0)
        try name(0)
        let refused = try await move()
        #expect(refused.0 == 2)
        #expect(refused.1.contains("/\(databases[0].name) has records already"), "\(refused.1)")
        try name(nil)
        #expect(try await addUser("bob") == 0)
    }

    @Test("is taken back by closing the database, and loses nothing there unasked",
          .timeLimit(.minutes(2)))
    func back() async throws {
        try name(0)
        #expect(try await move().0 == 0)
        // Nothing was done there since.
        let first = try await migrate("--undo")
        #expect(first.0 == 0)
        #expect(!first.1.contains("not issued here"))
        #expect(try await place.run("user", "list") == 78)
        let closed = try await move()
        #expect(closed.0 == 78)
        #expect(closed.1.contains("/\(databases[0].name): the records are in \(place.state)"))
        #expect(closed.1.contains("name an empty database"))
        #expect(try await migrate("--undo").0 == 2)

        try name(1)
        #expect(try await move().0 == 0)
        #expect(try await addUser("bob") == 0)
        let kept = "\(place.folder.path)/kept.db"
        #expect(try await place.run("backup", "--to", kept) == 0)
        let refused = try await migrate("--undo")
        #expect(refused.0 == 2)
        #expect(refused.1.contains("1 new audit entries"))
        #expect(try await addUser("cy") == 0)
        #expect(try await migrate("--undo", "--discard").0 == 0)
        #expect(try await addUser("dan") == 78)
        let later = "\(place.folder.path)/later.db"
        #expect(try await place.run("backup", "--to", later) == 0)
        try name(nil)
        #expect(try await addUser("eve") == 0)
        // What was kept is brought back by a restore, also what was kept too late.
        for (file, user) in [(kept, "bob"), (later, "cy")] {
            #expect(try await addUser(user) == 0)
            #expect(try await place.run("restore", "--from", file) == 0)
            #expect(try await addUser(user) == 2)
            #expect(try await addUser("eve") == 0)
        }
    }

    @Test("is taken back under a replica that was forgotten, which ends and says why",
          .timeLimit(.minutes(2)))
    func forgotten() async throws {
        try name(0)
        #expect(try await move().0 == 0)
        let other = try Place()
        try other.configure(line(0))
        try FileManager.default.createDirectory(
            atPath: other.state, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        try FileManager.default.copyItem(
            atPath: "\(place.state)/authority.key", toPath: "\(other.state)/authority.key")
        let (replica, log) = try other.start("serve")
        try await untilTrue { try other.text(log).contains("ready\n") }
        #expect(try await migrate("--undo").0 == 2)
        #expect(try await migrate("--undo", "--discard").0 == 0)
        #expect(await replica.end() == 78)
        let last = try other.text(log).split(separator: "\n").last ?? ""
        #expect(last.contains("the records are in \(place.state)/authority.db again"))
        #expect(!(try other.text(log).contains("SQLSTATE PM001")))
        try await untilTrue { try other.brokers().isEmpty }
    }

    @Test("is taken back once more where that was cut short", .timeLimit(.minutes(2)))
    func cut() async throws {
        try name(0)
        #expect(try await move().0 == 0)
        let file = StoreFile(path: "\(place.state)/authority.db")
        let departure = try #require(try file.departure())
        #expect(departure.isDone)
        let store = try await PostgreSQLAuthorityStore(
            databases[0].address, connections: 2,
            wrapping: MasterKey(at: "\(place.state)/authority.key"))
        #expect(try await store.identity() == departure.target?.id)
        let order = GiveBack(
            departure: departure, progress: try file.progress(), file: .file(file.path),
            now: systemClock(), mayLose: false)
        for _ in 0..<2 {
            #expect(try await store.giveBack(order) == .closed(hasGoneOn: false))
        }
        // One that runs on it still.
        #expect(try await store.departure()?.isDone == true)
        await #expect(throws: AuthorityError.failed(layer: "store", text: Departure.refusal)) {
            try await store.raiseLatestTime(to: systemClock())
        }
        try store.close()
        #expect(try await migrate("--undo").0 == 0)
        try name(nil)
        #expect(try await addUser("bob") == 0)
    }
}
