import AuthorityCore
import Dispatch
import Foundation
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityStore

@Suite("Transactions that wait together")
struct CommitGroupTests {
    private typealias Body =
        @Sendable (any AuthorityTransaction) throws(AuthorityError) -> Int
    private static let refusal = AuthorityError.failed(layer: "test", text: "no")

    /// Holds the writer until all of `bodies` wait for it, in their order, and lets it go.
    private func together(
        _ house: House, _ bodies: [Body]
    ) async throws -> [Result<Int, AuthorityError>] {
        let store = try house.file
        let isHeld = Mutex(false)
        let release = DispatchSemaphore(value: 0)
        let holder = Task {
            try await store.transact { _ throws(AuthorityError) in
                isHeld.withLock { $0 = true }
                release.wait()
            }
        }
        try await untilTrue { isHeld.withLock { $0 } }
        var tasks: [Task<Result<Int, AuthorityError>, Never>] = []
        for body in bodies {
            tasks.append(Task {
                do throws(AuthorityError) {
                    return .success(try await store.transact(body))
                } catch {
                    return .failure(error)
                }
            })
            let count = tasks.count
            try await untilTrue { store.group.waitingCount == count }
        }
        release.signal()
        try await holder.value
        var results: [Result<Int, AuthorityError>] = []
        for task in tasks { results.append(await task.value) }
        return results
    }

    /// Notes `number` and returns how many were noted before it.
    private func note(_ number: Int) -> Body {
        return { transaction throws(AuthorityError) in
            let before = try transaction.failures("noted", since: Timestamp(milliseconds: 0))
            try transaction.countFailure("noted", at: Timestamp(milliseconds: 1000))
            try transaction.countFailure("\(number)", at: Timestamp(milliseconds: 1000))
            return before
        }
    }

    /// Notes a number, and throws after that where it is a multiple of three.
    private func noteButThirds(_ number: Int) -> Body {
        let note = note(number)
        return { transaction throws(AuthorityError) in
            let before = try note(transaction)
            if number.isMultiple(of: 3) { throw Self.refusal }
            return before
        }
    }

    private func noted(_ house: House, _ key: String = "noted") async throws -> Int {
        try await house.store.read { transaction throws(AuthorityError) in
            try transaction.failures(key, since: Timestamp(milliseconds: 0))
        }
    }

    private static func sql(
        _ text: String, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        guard let transaction = transaction as? StoreTransaction else { throw refusal }
        try transaction.run(text)
    }

    @Test("are kept but for those that throw, in the order of their coming")
    func alone() async throws {
        let house = try await House()
        let results = try await together(house, (0..<20).map(noteButThirds))
        var kept = 0
        for (number, result) in results.enumerated() {
            if number.isMultiple(of: 3) {
                #expect(throws: Self.refusal) { try result.get() }
                #expect(try await noted(house, "\(number)") == 0)
            } else {
                #expect(try result.get() == kept)
                #expect(try await noted(house, "\(number)") == 1)
                kept += 1
            }
        }
        #expect(try await noted(house) == kept)
    }

    @Test("all fail when their commit fails, those included that threw, and nothing is kept")
    func failedCommit() async throws {
        let house = try await House()
        let refused: Body = { _ throws(AuthorityError) in throw Self.refusal }
        let breaking: Body = { transaction throws(AuthorityError) in
            // What refers to nothing is found at the commit alone.
            try Self.sql("PRAGMA defer_foreign_keys = ON", transaction)
            try Self.sql(
                """
                INSERT INTO families (id, session_id, generation, invalidated)
                VALUES (x'00', 'nowhere', 1, 0)
                """, transaction)
            return 0
        }
        let results = try await together(house, [note(1), refused, breaking, note(2)])
        for result in results {
            let error = #expect(throws: AuthorityError.self) { try result.get() }
            guard case .failed(layer: "store", _) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(try await noted(house) == 0)
        #expect(try await house.store.transact(note(3)) == 0)
        #expect(try await noted(house) == 1)
    }

    @Test("that come after one which lost the whole transaction begin anew")
    func lostTransaction() async throws {
        let house = try await House()
        // As SQLite does by itself after some errors of the disk.
        let losing: Body = { transaction throws(AuthorityError) in
            try Self.sql("ROLLBACK", transaction)
            throw .failed(layer: "store", text: "the disk")
        }
        let results = try await together(house, [note(1), note(2), losing, note(3), note(4)])
        #expect(results.map { try? $0.get() } == [nil, nil, nil, 0, 1])
        #expect(try await noted(house) == 2)
        #expect(try await noted(house, "1") == 0)
    }

    @Test("lose what a full disk refuses, and nothing else")
    func fullDisk() async throws {
        let house = try await House()
        let large: Body = { transaction throws(AuthorityError) in
            try Self.sql("PRAGMA max_page_count = 1", transaction)
            try Self.sql(
                "INSERT INTO failures (key, at) VALUES (hex(zeroblob(8000000)), 1)",
                transaction)
            return 0
        }
        let room: Body = { transaction throws(AuthorityError) in
            try Self.sql("PRAGMA max_page_count = 1073741823", transaction)
            return 0
        }
        let results = try await together(house, [large, room, note(1)])
        guard case .failure(let error) = results[0] else {
            Issue.record("there was no room")
            return
        }
        #expect(error.isDiskFull && error.words.hasPrefix("disk full: SQLite 13"))
        #expect(try await house.store.transact(note(2)) == 1)
        #expect(try await noted(house) == 2)
    }

    @Test("show that the disk is full until a change is stored again")
    func fullDiskShown() async throws {
        let house = try await House()
        let large: Body = { transaction throws(AuthorityError) in
            try Self.sql("PRAGMA max_page_count = 1", transaction)
            try Self.sql(
                "INSERT INTO failures (key, at) VALUES (hex(zeroblob(8000000)), 1)",
                transaction)
            return 0
        }
        let room: Body = { transaction throws(AuthorityError) in
            try Self.sql("PRAGMA max_page_count = 1073741823", transaction)
            return 0
        }
        let store = try house.file
        #expect(!store.isDiskFull)
        _ = try await together(house, [large])
        #expect(store.isDiskFull)
        _ = try await together(house, [room])
        #expect(store.isDiskFull)
        _ = try await store.transact(note(1))
        #expect(!store.isDiskFull)
    }

    @Test("are seen by another process as soon as one is told of its own")
    func seen() async throws {
        let house = try await House()
        let other = try house.place.openFile()
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    _ = try await house.store.transact(note(number))
                    let found = try await other.glance { transaction throws(AuthorityError) in
                        try transaction.failures("\(number)", since: Timestamp(milliseconds: 0))
                    }
                    #expect(found == 1)
                }
            }
            try await group.waitForAll()
        }
        try other.close()
    }

    @Test("count one after the other, however many writers there are and whoever throws")
    func manyWriters() async throws {
        let house = try await House()
        let board = try BoardDouble().installation
        let key = try #require(KeyID("k"))
        let numbers = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for writer in 0..<32 {
                group.addTask {
                    var own: [Int64] = []
                    for turn in 0..<30 {
                        let isRefused = (writer + turn).isMultiple(of: 4)
                        let number = try? await house.store.transact {
                            transaction throws(AuthorityError) in
                            let number = try transaction.nextSequence(
                                sealKey: key, board: board, at: Timestamp(milliseconds: 1))
                            if isRefused { throw Self.refusal }
                            return number
                        }
                        #expect((number == nil) == isRefused)
                        if let number { own.append(number) }
                    }
                    return own
                }
            }
            var all: [Int64] = []
            for try await own in group {
                #expect(own == own.sorted())
                all += own
            }
            return all
        }
        #expect(numbers.sorted() == Array(1...Int64(numbers.count)))
        #expect(numbers.count == 32 * 30 * 3 / 4)
    }

    @Test("fail once the store is closed, and leave nobody waiting")
    func closed() async throws {
        let house = try await House()
        try house.store.close()
        for _ in 0..<3 {
            await #expect(throws: AuthorityError.self) {
                _ = try await house.store.transact(note(1))
            }
            await #expect(throws: AuthorityError.self) {
                try await house.store.glance { transaction throws(AuthorityError) in
                    try transaction.failures("noted", since: Timestamp(milliseconds: 0))
                }
            }
        }
    }
}
