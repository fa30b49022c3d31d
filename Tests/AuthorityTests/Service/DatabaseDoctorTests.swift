import AuthorityCore
import AuthorityStore
import Doctor
import Foundation
import FreePorts
import Gate
import LinuxIO
import Logging
import PostgresServers
import Sessions
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityCommands
@testable import AuthorityService

/// The doctor's look at a real server.
@Suite("Doctor at a database", .serialized)
struct DatabaseDoctorTests {
    private let folder: TemporaryFolder
    private let server: PostgresServer

    init() async throws {
        folder = try TemporaryFolder()
        server = try await PostgresServer()
    }

    private func configure(_ uri: String?, _ more: String = "") throws {
        let text = """
            \(uri.map { "store = \"\($0)\"" } ?? "")
            state_dir = "\(folder.path)/state"
            \(more)
            """
        let file = "\(folder.path)/authority.toml"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
    }

    private func settings() throws -> ServiceSettings { try .read(from: folder.path) }

    private func findings() async -> [String: Finding] {
        let facts = await AuthorityFacts(folder.path, [.state])
        let rows = DoctorReport(AuthorityCheck.all, facts).rows
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.check.id, $0.finding) })
    }

    private func found() async throws {
        let settings = try settings()
        try await StateFolder(settings).found(
            administrator: "ada", password: SecretBytes("correct horse battery"),
            rules: settings.rules)
    }

    /// As `serve` would.
    private func keepOneRecord() async throws {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let data = try #require(try StateFolder(settings()).dataStore(try settings(), logger))
        let path = try #require(RecordPath(
            className: "Reading", operation: "create", record: nil as Substring?))
        let owner = try #require(UserID("ada0000001"))
        let now = systemClock()
        _ = try await data.keep([OwnedRecord(owner: owner, record: DataRecord(
            board: try BoardDouble().installation, sequence: 1, path: path,
            app: try #require(AppName("thermo")), writtenAt: now, receivedAt: now,
            payload: Array(#"{"celsius":1}"#.utf8)), since: now)])
        try await data.close()
    }

    @Test("sees what is ahead of a database, and blames no state for one that is away",
          .timeLimit(.minutes(5)))
    func upAndDown() async throws {
        try await configure(server.newDatabase())
        try await found()
        let well = await findings()
        for id in ["state", "key-file", "clock", "restored", "database", "shared-settings"] {
            #expect(well[id]?.result == .ok, "\(id): \(String(describing: well[id]))")
        }
        #expect(well["kept-data"]?.found == "nothing yet")
        try await keepOneRecord()
        let kept = await findings()["kept-data"]
        #expect(kept?.result == .ok)
        #expect(kept?.found.hasPrefix("1 records, 0 of 1024 MiB, 0 MiB on disk, ") == true,
                "\(String(describing: kept))")
        let store = try await StateFolder(settings()).open()
        let board = try BoardDouble().installation
        try await store.transact { transaction throws(AuthorityError) in
            let now = systemClock()
            try transaction.add(Gap(began: now, ended: now, isRestored: true))
            _ = try transaction.noteAhead(AheadBoard(board: board, sign: .session, since: now))
        }
        #expect(await findings()["restored"]?.found.contains("1 boards") == true)
        try await store.transact { transaction throws(AuthorityError) in
            try transaction.forgetAhead(board)
        }
        #expect(await findings()["restored"]?.found.contains("not settled") == true)
        try store.close()
        try await server.stop()
        let away = await findings()
        #expect(away["database"]?.result == .failed)
        for id in ["state", "key-file", "clock", "restored", "kept-data"] {
            #expect(away[id]?.result == .skipped, "\(id): \(String(describing: away[id]))")
        }
    }

    @Test("finds a schema without keys, of a founding that was cut short", arguments: [true, false])
    func unfounded(isFile: Bool) async throws {
        try await configure(isFile ? nil : server.newDatabase())
        let state = StateFolder(try settings())
        try PrivateFolder.prepare(state.path)
        let key = try MasterKey.fresh()
        try key.keep(at: state.masterKey)
        try await state.opened(wrapping: key).close()
        let finding = await findings()["state"]
        #expect(finding?.result == .failed)
        #expect(finding?.found.contains("init --admin") == true, "\(String(describing: finding))")
        #expect(await findings()["key-file"]?.result == .skipped)
        try await found()
        #expect(await findings()["state"]?.result == .ok)
    }

    @Test("says that one hangs which takes connections and gives no answer",
          .timeLimit(.minutes(5)))
    func hanging() async throws {
        let listener = try SilentListener()
        try configure("postgres://u@127.0.0.1:\(listener.port)/d")
        try FileManager.default.createDirectory(
            atPath: "\(folder.path)/state", withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        let finding = await findings()["database"]
        #expect(finding?.result == .failed)
        #expect(finding?.found.contains("no answer") == true, "\(String(describing: finding))")
    }

    @Test("sees settings that are others than those the other authorities have")
    func others() async throws {
        let uri = try await server.newDatabase()
        try configure(uri)
        try await found()
        let store = try await StateFolder(settings()).open()
        defer { try? store.close() }
        let kept = try settings().shared
        #expect(try await store.keep(kept, replacing: false) == kept)
        #expect(await findings()["shared-settings"]?.result == .ok)
        try configure(uri, "[http]\npublic_url = \"https://elsewhere.example\"")
        let other = try settings().shared
        #expect(try await store.keep(other, replacing: false) == kept)
        #expect(await findings()["shared-settings"]?.result == .failed)
        try configure(uri, "[http]\napp_id = \"other\"")
        let finding = await findings()["shared-settings"]
        #expect(finding?.result == .failed)
        #expect(finding?.found.contains("http.app_id is \"other\" here") == true)
        #expect(try await store.keep(settings().shared, replacing: true) == settings().shared)
        #expect(await findings()["shared-settings"]?.result == .ok)
    }
}
