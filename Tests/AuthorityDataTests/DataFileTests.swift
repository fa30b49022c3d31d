import AuthorityCore
import AuthorityData
import Foundation
import GRDB
import Sessions
import Testing

@Suite("The file of the records")
struct DataFileTests {
    @Test("of another version is refused, and not changed")
    func version() async throws {
        let folder = try Folder()
        try SQLiteDataStore(path: folder.file).close()
        let queue = try DatabaseQueue(path: folder.file)
        try await queue.write { try $0.execute(sql: "UPDATE schema_version SET number = 2") }
        try queue.close()
        #expect {
            try SQLiteDataStore(path: folder.file)
        } throws: { error in
            guard case .failed(layer: "schema", let text)? = error as? AuthorityError else {
                return false
            }
            return text.contains("version 2")
        }
    }

    @Test("that is no database is refused")
    func foreign() throws {
        let folder = try Folder()
        try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: folder.file))
        #expect(throws: AuthorityError.self) { try SQLiteDataStore(path: folder.file) }
    }

    @Test("holds its records after it was closed, and gives space back")
    func reopened() async throws {
        let folder = try Folder()
        let store = try SQLiteDataStore(path: folder.file)
        let filling = String(repeating: "x", count: 2000)
        _ = try await store.keep((0..<2000).map { Given.record($0, filling, at: .seconds($0)) })
        try store.close()
        let full = try size(folder.file)
        let again = try SQLiteDataStore(path: folder.file)
        #expect(try await again.usage().records == 2000)
        #expect(try await again.keep([Given.record(7)]) == KeepCount(repeated: 1))
        let bounds = DataBounds(keep: .seconds(1000), maxBytes: .max)
        while try await again.trim(bounds, now: Given.start + .seconds(2500)).isMore {}
        #expect(try await again.usage().records == 500)
        try again.close()
        let left = try size(folder.file)
        #expect(left < full / 2)
    }

    private func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    @Test("loses nothing that was answered, and keeps nothing twice, when its writer is killed")
    func killed() async throws {
        let folder = try Folder()
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("bench-data")
        var answered: Int64 = 0
        for _ in 0..<3 {
            let process = Process()
            process.executableURL = program
            process.arguments = ["--until-killed", folder.file, "\(answered)"]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            // Some commits later it is within one.
            var lines = ""
            let target = answered + 2000
            while answered < target {
                let part = output.fileHandleForReading.availableData
                if part.isEmpty { break }
                lines += String(decoding: part, as: UTF8.self)
                let whole = lines.split(separator: "\n", omittingEmptySubsequences: false)
                answered = whole.dropLast().last.flatMap { Int64($0) } ?? answered
            }
            #expect(answered >= target)
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            let store = try SQLiteDataStore(path: folder.file)
            let kept = try await store.usage().records
            #expect(kept >= answered)
            // Everything that was answered is there, once, and what comes again is known.
            var query = RecordQuery(owner: UserID("bench")!, limit: 100_000)
            query.isDescending = false
            let sequences = try await store.records(query).map(\.sequence)
            #expect(sequences == Array(1...kept))
            try store.close()
            let damage = try await DatabaseQueue(path: folder.file).read {
                try String.fetchAll($0, sql: "PRAGMA integrity_check")
            }
            #expect(damage == ["ok"])
        }
    }
}
