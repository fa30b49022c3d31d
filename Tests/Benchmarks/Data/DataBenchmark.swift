import AuthorityCore
import AuthorityData
import Foundation
import Gate
import PostgreSQLClient
import PostgresServers
import Sessions
import Wire

/// Measures the stores of records. Prints figures and judges none.
///
/// `bench-data [--short]`, or `bench-data --until-killed FILE FROM`, which keeps records from a
/// sequence number on and prints the last one after each commit.
@main
struct DataBenchmark {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == "--until-killed", let from = Int64(arguments[3]) {
            try await keepUntilKilled(arguments[2], from: from)
        }
        let isShort = arguments.contains("--short")
        let folder = FileManager.default.temporaryDirectory.path + "/bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        print("SQLite, budget 20,000 records a second")
        for boards in [1, 1000] {
            let store = try SQLiteDataStore(path: "\(folder)/\(boards).db")
            try await fill(store, boards: boards, count: isShort ? 50_000 : 300_000)
            try store.close()
        }
        let month = try SQLiteDataStore(path: folder + "/month.db")
        try await plot(month, seconds: isShort ? 86_400 : 30 * 86_400)
        try month.close()
        guard PostgresServer.isInstalled else { return print("PostgreSQL is not installed") }
        let server = try await PostgresServer(isDurable: true)
        print("PostgreSQL, budget 10,000 records a second")
        for boards in [1, 1000] {
            let address = try PostgresAddress(uri: await server.newDatabase(), password: nil)
            let store = PostgreSQLDataStore(address)
            try await fill(store, boards: boards, count: isShort ? 30_000 : 150_000)
            store.close()
        }
    }

    private static let owner = UserID("bench")
    private static let batch = 2000

    /// A reading of 100 bytes.
    private static func record(_ number: Int64, of board: InstallationID) -> OwnedRecord? {
        let text = #"{"celsius":\#(Double(number % 400) / 10),"percent":\#(number % 100),"note":""#
        let payload = text + String(repeating: "x", count: max(0, 98 - text.utf8.count)) + "\"}"
        guard let name = ClassName("Reading"), let app = AppName("thermo"), let owner,
            let path = RecordPath(className: name, operation: .create, record: nil)
        else { return nil }
        let time = Timestamp(milliseconds: 1_800_000_000_000 + number * 1000)
        return OwnedRecord(owner: owner, record: DataRecord(
            board: board, sequence: number, path: path, app: app, writtenAt: time,
            receivedAt: time + .milliseconds(50), payload: Array(payload.utf8)),
            since: Timestamp(milliseconds: 0))
    }

    private static func board(_ number: Int) -> InstallationID {
        var bytes = [UInt8](repeating: 7, count: 16)
        (bytes[0], bytes[1]) = (UInt8(truncatingIfNeeded: number >> 8), UInt8(number & 0xFF))
        return InstallationID(random: bytes)
    }

    private static func fill(_ store: any DataStore, boards: Int, count: Int) async throws {
        let all = (0..<boards).map(board)
        var sequence = 0
        var spent = Duration.zero
        while sequence < count {
            let records = (sequence..<sequence + batch).compactMap { index in
                record(Int64(index / boards + 1), of: all[index % boards])
            }
            let begun = ContinuousClock.now
            _ = try await store.keep(records)
            spent += ContinuousClock.now - begun
            sequence += batch
        }
        let usage = try await store.usage()
        print("  \(boards) boards: \(Int(Double(sequence) / spent.seconds)) records a second, "
            + "\(usage.bytes / max(usage.records, 1)) bytes a record")
    }

    /// A reading a second of one board, and its plots.
    private static func plot(_ store: any DataStore, seconds: Int64) async throws {
        let one = board(1)
        for start in stride(from: Int64(0), to: seconds, by: batch) {
            _ = try await store.keep((start..<start + Int64(batch)).compactMap {
                record($0, of: one)
            })
        }
        guard let owner, let name = ClassName("Reading") else { return }
        let since = Timestamp(milliseconds: 1_800_000_000_000)
        let spans = [("hour", 3600), ("day", 86_400), ("week", 604_800), ("all", seconds)]
        for (title, span) in spans {
            let query = SeriesQuery(
                owner: owner, board: one, className: name, field: "celsius",
                since: since + .seconds(max(seconds - span, 0)), until: since + .seconds(seconds),
                step: .seconds(max(span / 500, 1)))
            let begun = ContinuousClock.now
            let buckets = try await store.series(query)
            let spent = ContinuousClock.now - begun
            print("  \(seconds) records, plot of \(title): \(Int(spent.seconds * 1000)) ms, "
                + "\(buckets.count) buckets")
        }
    }

    private static func keepUntilKilled(_ path: String, from: Int64) async throws {
        let store = try SQLiteDataStore(path: path)
        var next = from + 1
        while true {
            let records = (next..<next + 100).compactMap { record($0, of: board(1)) }
            _ = try await store.keep(records)
            next += 100
            try FileHandle.standardOutput.write(contentsOf: Data("\(next - 1)\n".utf8))
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(milliseconds) / 1000 }
}
