import AuthorityCore
import AuthorityData
import Gate
import PostgreSQLClient
import PostgresServers
import Sessions
import Testing

@Suite("A release")
struct ReleaseTests {
    private let at = Given.start + .seconds(60)

    private var release: DataRelease {
        DataRelease(board: Given.board, owner: Given.ann, at: at)
    }

    private func owned(
        _ sequence: Int64, since: Timestamp, owner: UserID = Given.ann,
        board: InstallationID = Given.board
    ) -> OwnedRecord {
        let record = Given.record(sequence, at: .seconds(sequence), board: board).record
        return OwnedRecord(owner: owner, record: record, since: since)
    }

    @Test("deletes the board's records, and only those of its owner", arguments: Stores.all)
    func deletes(stores: Stores) async throws {
        let store = try await stores.make()
        _ = try await store.keep([
            Given.record(1), Given.record(2, owner: Given.bob),
            Given.record(3, board: Given.board(2)), Given.write(.update, "lamp", 4),
            Given.write(.update, "\(Given.id(3, Given.board(2)))", 5, board: Given.board(2)),
        ])
        #expect(try await store.boards(of: Given.ann) == [Given.board, Given.board(2)])
        #expect(try await store.boards(of: Given.bob) == [Given.board])
        try await store.delete(release)
        #expect(try await store.boards(of: Given.ann) == [Given.board(2)])
        #expect(try await store.boards(of: Given.bob) == [Given.board])
        let ann = try await store.records(RecordQuery(owner: Given.ann, limit: 9))
        #expect(ann.map(\.sequence) == [3, 5])
        let bob = try await store.records(RecordQuery(owner: Given.bob, limit: 9))
        #expect(bob.map(\.sequence) == [2])
        #expect(try await store.newest(of: Given.board, owner: Given.ann).isEmpty)
        let query = ObjectQuery(owner: Given.ann, className: Given.reading)
        #expect(try await store.objects(query).objects.count == 1)
        let again = owned(1, since: at + .seconds(1))
        #expect(try await store.keep([again]) == KeepCount(repeated: 1))
        #expect(try await store.usage().records == 3)
        try await store.close()
    }

    @Test("holds against a batch that found its owner before", arguments: Stores.all)
    func late(stores: Stores) async throws {
        let store = try await stores.make()
        let before = Given.ownedSince
        _ = try await store.keep([owned(1, since: before)])
        try await store.delete(release)
        let batch = [
            owned(2, since: before), owned(3, since: at), owned(4, since: before, owner: Given.bob),
            owned(5, since: before, board: Given.board(2)),
        ]
        #expect(try await store.keep(batch) == KeepCount(stored: 2, released: 2))
        let ann = try await store.records(RecordQuery(owner: Given.ann, limit: 9))
        #expect(ann.map(\.sequence) == [5])
        // The same owner has the board again. What was not stored is not known either.
        let again = [owned(3, since: at + .milliseconds(1)), owned(2, since: before)]
        #expect(try await store.keep(again) == KeepCount(stored: 1, released: 1))
        // The time of a release never goes back.
        let older = DataRelease(board: Given.board, owner: Given.ann, at: at - .seconds(30))
        try await store.delete(older)
        #expect(try await store.keep([owned(6, since: at)]) == KeepCount(released: 1))
        try await store.close()
    }

    @Test("stays until it was settled, and as long as records of it may come",
          arguments: Stores.all)
    func settled(stores: Stores) async throws {
        let store = try await stores.make()
        let second = DataRelease(board: Given.board(2), owner: Given.ann, at: at + .seconds(1))
        try await store.delete(release)
        try await store.delete(second)
        #expect(try await store.openReleases(until: at - .milliseconds(1)).isEmpty)
        #expect(try await store.openReleases(until: at) == [release])
        #expect(try await store.openReleases(until: at + .seconds(9)) == [release, second])
        try await store.settle(release, ownerHasBoard: true)
        try await store.settle(second, ownerHasBoard: false)
        #expect(try await store.openReleases(until: at + .seconds(9)).isEmpty)
        let before = Given.ownedSince
        func count(_ sequence: Int64) async throws -> KeepCount {
            try await store.keep([
                owned(sequence, since: before),
                owned(sequence, since: before, board: Given.board(2)),
            ])
        }
        #expect(try await count(1) == KeepCount(stored: 1, released: 1))
        // A release that came after the one that is settled stays.
        let newer = DataRelease(board: Given.board, owner: Given.ann, at: at + .seconds(2))
        try await store.delete(newer)
        try await store.settle(release, ownerHasBoard: true)
        #expect(try await count(2) == KeepCount(released: 2))
        let bounds = DataBounds(keep: .seconds(86_400 * 1000), maxBytes: .max)
        _ = try await store.trim(bounds, now: at + DataRelease.memory)
        #expect(try await count(2) == KeepCount(released: 2))
        _ = try await store.trim(bounds, now: at + DataRelease.memory + .seconds(10))
        // The open one stays.
        #expect(try await count(3) == KeepCount(stored: 1, released: 1))
        try await store.close()
    }

    @Test("by one authority holds for all that share the database",
          .enabled(if: PostgresServer.isInstalled))
    func shared() async throws {
        let server = try await PostgresServer.shared()
        let address = try PostgresAddress(uri: await server.newDatabase(), password: nil)
        let (one, two) = (PostgreSQLDataStore(address), PostgreSQLDataStore(address))
        let batches = (0..<40).map { batch in
            (0..<25).map { owned(Int64(batch * 25 + $0), since: Given.ownedSince) }
        }
        _ = try await two.keep(batches[0])
        let count = try await withThrowingTaskGroup(of: KeepCount.self) { group in
            for batch in batches.dropFirst() { group.addTask { try await two.keep(batch) } }
            group.addTask {
                try await one.delete(release)
                return KeepCount()
            }
            return try await group.reduce(into: KeepCount()) { sum, count in
                (sum.stored, sum.released) = (
                    sum.stored + count.stored, sum.released + count.released)
            }
        }
        #expect(count.stored + count.released == 975)
        #expect(try await two.records(RecordQuery(owner: Given.ann, limit: 9)).isEmpty)
        #expect(try await two.keep(batches[0]) == KeepCount(released: 25))
        one.close()
        two.close()
    }
}
