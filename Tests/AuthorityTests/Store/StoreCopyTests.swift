import AuthorityCore
import Foundation
import GRDB
import PostgreSQLClient
import Sessions
import Testing
import Wire

@testable import AuthorityService
@testable import AuthorityStore

@Suite("Copy of a store")
struct StoreCopyTests {
    @Test("has every row, whatever it holds, and opens with the same master key")
    func whole() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await live.authenticate()
        for index in 0..<1200 {
            try await house.authority.alarm("test", "entry \(index)")
        }
        let path = "\(house.folder.path)/filled.db"
        try await house.file.pool.read { database in
            let counts = try StoreFile(path: path).fill(
                from: SQLiteRunner(database: database))
            for table in Schema.tables {
                let rows = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table.name)")
                #expect(counts[table.name] == rows, "\(table.name)")
            }
            #expect(counts["audit"].map { $0 > 1200 } == true)
        }
        _ = try StoreFile(path: path).verify()
        let copy = try SQLiteAuthorityStore(
            path: path, wrapping: MasterKey(at: "\(house.folder.path)/authority.key"))
        let authority = House.authority(on: copy, house)
        let body = BoardMessage.Body.refresh(live.provision.tokens.refresh)
        #expect(try await live.ask(body, of: authority).result != nil)
        let newest = try await copy.read { tx throws(AuthorityError) in
            try tx.newestEntry()
        }
        #expect(newest > 1200)
    }

    @Test("is made into nothing that holds records already")
    func full() async throws {
        let house = try await House()
        let other = try await House()
        try await house.file.pool.read { database in
            let path = "\(other.folder.path)/authority.db"
            #expect(throws: AuthorityError.self) {
                _ = try StoreFile(path: path).fill(from: SQLiteRunner(database: database))
            }
        }
    }
}

@Suite("Backup")
struct BackupTests {
    @Test("is one view of a store in use, and replaces none unasked", .timeLimit(.minutes(5)))
    func command() async throws {
        let place = try Place()
        #expect(try await place.initialise() == 0)
        let (service, log) = try place.start(["serve"])
        try await untilTrue { try place.text(log).contains("ready\n") }
        let (file, key) = ("\(place.state)/copy.db", "\(place.state)/copy.key")
        #expect(try await place.run("backup", "--to", file, "--with-key", file) == 2)
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(try await place.run("backup", "--to", file, "--with-key", key) == 0)
        #expect(
            try await place.run("backup", "--to", key, "--with-key", key, "--replace") == 2)
        #expect(try await place.run("backup", "--to", file) == 2)
        #expect(try await place.run("backup", "--to", file, "--replace") == 0)
        // Nobody restores under a service that runs.
        #expect(try await place.run("restore", "--from", file) == 1)
        kill(service.processIdentifier, SIGTERM)
        try await untilTrue { try !service.isRunning && place.brokers().isEmpty }
        #expect(try await place.run("user", "add", "bob", "--password-file", place.password) == 0)
        #expect(try await place.run("restore", "--from", file) == 0)
        let store = try await StateFolder(path: place.state).open()
        let users = try await store.read { tx throws(AuthorityError) in
            try tx.users().map(\.username)
        }
        #expect(users == ["ada"])
        let isRestored = try await store.read { tx throws(AuthorityError) in
            try tx.isRestored()
        }
        #expect(isRestored)
        try store.close()
        let kept = try FileManager.default.contentsOfDirectory(atPath: place.state)
            .filter { $0.hasPrefix("authority.db.before-") }
        #expect(kept.count == 1)
        #expect(try await place.run("restore", "--settle") == 0)
        #expect(try await place.run("restore", "--settle", "--mark") == 2)
        // To a machine that has nothing.
        for name in ["authority.db", "authority.key"] {
            try FileManager.default.removeItem(atPath: "\(place.state)/\(name)")
        }
        #expect(try await place.run("restore", "--from", file) == 78)
        #expect(try await place.run("restore", "--from", file, "--with-key", key) == 0)
        #expect(try await place.run("user", "list") == 0)
    }
}

@Suite("Copy into PostgreSQL")
struct PostgreSQLCopyTests {
    @Test("leaves every session valid, and every number above what was given out")
    func copied() async throws {
        let house = try await House(place: HousePlace(.sqlite))
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let id = try MessageID.fresh()
        let refresh = BoardMessage.Body.refresh(live.provision.tokens.refresh)
        let first = try await live.ask(refresh, id: id)
        let file = StoreFile(path: "\(house.folder.path)/authority.db")
        let place = try await HousePlace(.postgreSQL)
        try FileManager.default.removeItem(atPath: "\(place.folder.path)/authority.key")
        try FileManager.default.copyItem(
            atPath: "\(house.folder.path)/authority.key",
            toPath: "\(place.folder.path)/authority.key")
        let store = try await place.openDatabase()
        let counts = try await store.take(file)
        #expect(counts["sessions"] == 2)
        await #expect(throws: StoreCopy.occupied) { _ = try await store.take(file) }
        let newest = try await store.read { tx throws(AuthorityError) in try tx.newestEntry() }
        try store.close()

        // As the service opens it.
        let opened = try await place.openDatabase()
        let authority = House.authority(on: opened, house)
        let again = try live.payload(refresh, id: id)
        let repeated = try live.reply(
            in: await authority.handle(again, from: live.board.installation))
        #expect(repeated.result?.refreshToken?.reveal() == first.result?.refreshToken?.reveal())
        let next = try #require(first.result?.refreshToken)
        #expect(try await live.ask(.refresh(next), of: authority).result != nil)
        let beat = BoardMessage.Body.authenticate(
            live.provision.tokens.session, durationMinutes: nil)
        #expect(try await live.ask(beat, of: authority).result != nil)
        try await authority.alarm("test", "the first here")
        let entry = try await opened.read { tx throws(AuthorityError) in
            try tx.entries(AuditQuery(limit: 1, board: nil)).first
        }
        #expect(try #require(entry).number > newest)

        // And back into a file, as a backup has it.
        let backup = StoreFile(path: "\(house.folder.path)/backup.db")
        let saved = try await opened.save(to: backup)
        #expect(saved["sessions"] == 2)
        _ = try backup.verify()
        let restored = try SQLiteAuthorityStore(
            path: backup.path, wrapping: MasterKey(at: "\(house.folder.path)/authority.key"))
        let old = House.authority(on: restored, house)
        #expect(try await live.ask(beat, of: old).result != nil)
        try opened.close()
    }
}
