import AuthorityCore
import AuthorityData
import Foundation
import Gate
import Sessions
import Wire

/// A real store of records in a temporary folder, with what boards of alice and bob wrote.
final class StoredWrites: Sendable {
    static let alice = UserID("uSeR000001")!
    static let bob = UserID("uSeR000002")!
    static let board = InstallationID(StubFrontend.iid)!
    static let other = InstallationID("5b3ecb6e-5d8a-4a9e-8f0e-0123456789ab")!
    static let start = Timestamp(milliseconds: Int64(StubFrontend.start) * 1000)

    let store: any DataStore
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/writes-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        store = try SQLiteDataStore(path: folder + "/data.db")
    }

    /// Each test ends with it, so that the folder lasts as long as the store is in use.
    func close() async throws { try await store.close() }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// One write, `sequence` seconds after the start.
    func write(
        _ sequence: Int64, _ payload: String, _ path: String = "Reading/create",
        board: InstallationID = board, owner: UserID = alice,
        wait: Duration = .milliseconds(100)
    ) async throws {
        let kept = try await store.keep([
            Self.made(sequence, payload, path, board: board, owner: owner, wait: wait)
        ])
        precondition(kept.stored == 1, "a write has a sequence of its own")
    }

    /// Many writes of alice's board in one commit.
    func write(
        _ sequences: ClosedRange<Int64>, _ payload: String, at path: (Int64) -> String
    ) async throws {
        _ = try await store.keep(sequences.map { Self.made($0, payload, path($0)) })
    }

    private static func made(
        _ sequence: Int64, _ payload: String, _ path: String, board: InstallationID = board,
        owner: UserID = alice, wait: Duration = .milliseconds(100)
    ) -> OwnedRecord {
        let parts = path.split(separator: "/").map(String.init)
        let record = RecordPath(
            className: ClassName(parts[0])!, operation: Operation(rawValue: parts[1])!,
            record: parts.count > 2 ? RecordID(parts[2]) : nil)!
        let written = start + .seconds(sequence)
        return OwnedRecord(owner: owner, record: DataRecord(
            board: board, sequence: sequence, path: record, app: AppName("thermo")!,
            writtenAt: written, receivedAt: written + wait, payload: Array(payload.utf8)),
            since: start)
    }

    static func id(_ sequence: Int64, _ board: InstallationID = board) -> String {
        "\(board)-\(sequence)"
    }
}
