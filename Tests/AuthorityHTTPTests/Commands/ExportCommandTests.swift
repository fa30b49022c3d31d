import AdminCommands
import AuthorityCore
import Foundation
import Gate
import Sessions
import Synchronization
import Testing
import Wire

@Suite("The export command")
struct ExportCommandTests {
    private static let line = "export --board \(StubFrontend.iid) --format jsonl"

    private func withStore(
        _ store: any DataStore, _ body: @Sendable (Person) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("postern-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await RunningConsole.with(data: store) { console in
            let person = Person(console: console, folder: folder)
            let login = "login --username alice --password-file -"
            #expect(await person.types(login, input: "correct").hasSuffix("[0]"))
            try await body(person)
        }
    }

    private func sequences(_ lines: some Sequence<Substring>) -> [Int64] {
        lines.compactMap { line in
            let json = try? JSONObject(parsing: Array(line.utf8))
            return json?.members["seq"]?.asInteger
        }
    }

    private static let overloaded = AuthorityError.refused(.tooMany("requests", wait: .seconds(7)))

    @Test("waits as long as a busy authority asks, and goes on where it stopped")
    func busy() async throws {
        let store = FailingStore(records: 2500)
        store.fail(at: 1, with: [Self.overloaded])
        store.fail(at: 2001, with: [.failed(layer: "store", text: "x"), Self.overloaded])
        try await withStore(store) { person in
            let seen = await person.types(Self.line).split(separator: "\n")
            #expect(sequences(seen) == Array(1...2500))
            #expect(person.pauses == [.seconds(7), .seconds(10), .seconds(7)])
            #expect(seen.last == "[0]" && seen.dropLast().last == "! ✓ 2500 records")
            #expect(seen.first?.hasPrefix("! waiting 7 s, then reading on: ") == true)
        }
    }

    @Test("gives up after five waits, with the status of the failure", arguments: [
        (.failed(layer: "store", text: "x"), "[5]"), (overloaded, "[1]"),
    ] as [(AuthorityError, String)])
    func givesUp(failure: AuthorityError, status: String) async throws {
        let store = FailingStore(records: 2500)
        store.fail(at: 1001, with: Array(repeating: failure, count: 6))
        try await withStore(store) { person in
            let seen = await person.types(Self.line)
            #expect(sequences(seen.split(separator: "\n")) == Array(1...1000))
            #expect(person.pauses.count == 5)
            #expect(seen.contains("\n! ✗ incomplete: only 1000 records\n"))
            #expect(seen.hasSuffix(status))
        }
    }

    @Test("does not wait for more than a minute, nor after a refusal", arguments: [
        .refused(.tooMany("requests", wait: .seconds(61))),
        .refused(Refusal(.forbidden, "no")),
    ] as [AuthorityError])
    func final(failure: AuthorityError) async throws {
        let store = FailingStore(records: 5)
        store.fail(at: 1, with: [failure])
        try await withStore(store) { person in
            #expect(!(await person.types(Self.line).hasSuffix("[0]")))
            #expect(person.pauses.isEmpty)
        }
    }

    @Test("writes a file of mode 0600 when it is complete, and replaces none unasked")
    func file() async throws {
        let store = FailingStore(records: 1500)
        try await withStore(store) { person in
            let path = person.folder + "/out.jsonl"
            let line = Self.line + " --out \(path)"
            #expect(await person.types(line) == "! ✓ 1500 records in \(path)\n[0]")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(sequences(text.split(separator: "\n")) == Array(1...1500))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
            let again = await person.types(line)
            #expect(again.contains("there is such a file already; --force replaces it"))
            #expect(again.hasSuffix("[2]"))
            store.fail(at: 1001, with: [.refused(Refusal(.forbidden, "no"))])
            let broken = await person.types(line + " --force")
            #expect(broken.contains("! ✗ \(path) was not written, after 1000 records"))
            #expect(broken.hasSuffix("[77]"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
            #expect(await person.types("\(line) --since 1s --force")
                == "! ✓ 1500 records in \(path)\n[0]")
            let names = try FileManager.default.contentsOfDirectory(atPath: person.folder)
            #expect(names.sorted() == ["out.jsonl", "profile.json"])
            #expect(await person.types(Self.line + " --force").hasSuffix("[2]"))
        }
    }

    @Test("reads a former board by its name or the beginning of its id, and the board can go")
    func former() async throws {
        let store = KeptStore([FormerBoardRouteTests.attic, FormerBoardRouteTests.barn])
        try await withStore(store) { person in
            let listed = await person.types("boards former")
            #expect(listed.contains("attic") && listed.contains(FormerBoardRouteTests.barn))
            for name in ["attic", "7777", FormerBoardRouteTests.attic] {
                let seen = await person.types("export --format jsonl --board \(name)")
                #expect(seen.contains(#""iid":"\#(FormerBoardRouteTests.attic)""#), "\(name)")
                #expect(seen.hasSuffix("[0]"))
            }
            // Nothing else takes it for a board.
            #expect(await person.types("boards show attic").hasSuffix("[2]"))
            #expect(await person.types("boards delete-data cellar").hasSuffix("[2]"))
            #expect(await person.types("boards delete-data attic") == """
                ! ✓ deleted the data of attic (\(FormerBoardRouteTests.attic))
                [0]
                """)
            #expect(store.boards == [FormerBoardRouteTests.barn])
            #expect(await person.types("boards delete-data 8888 --json") == """
                ! ✓ deleted the data of \(FormerBoardRouteTests.barn)
                {"installationId":"\(FormerBoardRouteTests.barn)"}
                [0]
                """)
            #expect(await person.types("boards former") == "! no former boards\n[0]")
        }
    }
}

/// Records of one board with the sequences from 1 on. Reads that begin at a sequence fail as the
/// test says.
final class FailingStore: DataStore {
    private let count: Int64
    private let failures = Mutex<[Int64: [AuthorityError]]>([:])

    init(records count: Int64) { self.count = count }

    func fail(at sequence: Int64, with errors: [AuthorityError]) {
        failures.withLock { $0[sequence] = errors }
    }

    func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord] {
        let first = (query.after?.sequence ?? 0) + 1
        let failure = failures.withLock { failures in
            failures[first]?.isEmpty == false ? failures[first]?.removeFirst() : nil
        }
        if let failure { throw failure }
        guard let board = query.board, let app = AppName("thermo"),
            let className = ClassName("Reading"),
            let path = RecordPath(className: className, operation: .create, record: nil),
            first <= count
        else { return [] }
        return (first...min(count, first + Int64(query.limit) - 1)).map { sequence in
            DataRecord(
                board: board, sequence: sequence, path: path, app: app,
                writtenAt: Timestamp(milliseconds: sequence),
                receivedAt: Timestamp(milliseconds: sequence), payload: Array("{}".utf8))
        }
    }

    func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount { KeepCount() }
    func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket] { [] }
    func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue] { [] }
    func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage {
        ObjectPage(objects: [], count: nil, isPartial: false)
    }
    func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID] { [] }
    func delete(_ release: DataRelease) async throws(AuthorityError) {}
    func openReleases(until time: Timestamp) async throws(AuthorityError) -> [DataRelease] { [] }
    func settle(_ release: DataRelease, ownerHasBoard: Bool) async throws(AuthorityError) {}
    func trim(_ bounds: DataBounds, now: Timestamp) async throws(AuthorityError) -> TrimCount {
        TrimCount()
    }
    func usage() async throws(AuthorityError) -> DataUsage {
        DataUsage(records: count, bytes: 0, oldest: nil)
    }
    func close() async throws(AuthorityError) {}
}
