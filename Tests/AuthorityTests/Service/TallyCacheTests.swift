import AuthorityCore
import Synchronization
import Testing

@testable import AuthorityService
@testable import AuthorityStore

@Suite("Cache of the store's count")
struct TallyCacheTests {
    /// A store that is counted as the test says, and numbers its counts by its users.
    private final class Source: Sendable {
        private struct State {
            var now = Duration.zero
            var took = Duration.milliseconds(10)
            var counts: Int64 = 0
            var isAway = false
            var isHeld = false
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Mutex(State())

        var counts: Int64 { state.withLock { $0.counts } }
        func pass(_ span: Duration) { state.withLock { $0.now += span } }
        func take(_ span: Duration) { state.withLock { $0.took = span } }
        func beAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }
        func hold() { state.withLock { $0.isHeld = true } }

        func release() {
            let waiting = state.withLock { state in
                state.isHeld = false
                defer { state.waiting = [] }
                return state.waiting
            }
            for one in waiting { one.resume() }
        }

        var cache: TallyCache {
            TallyCache(
                count: { () async throws(AuthorityError) in try await self.count() },
                clock: { self.state.withLock { $0.now } })
        }

        private func count() async throws(AuthorityError) -> StoreTally {
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    state.counts += 1
                    if state.isHeld { state.waiting.append(continuation) }
                    return state.isHeld
                }
                if !isHeld { continuation.resume() }
            }
            let (number, isAway) = state.withLock { state in
                state.now += state.took
                return (state.counts, state.isAway)
            }
            if isAway { throw .failed(layer: "store", text: "away") }
            return StoreTally(
                users: number, boards: 0, boardsUp: 0, sessionsOfPeople: 0, sessionsOfBoards: 0,
                endings: [:], boardsAhead: 0, bytes: 0)
        }

        /// Until as many counts were begun.
        func wait(for count: Int64) async {
            while counts < count { await Task.yield() }
        }
    }

    @Test("keeps a count fifty times as long as it took, and says how old it is")
    func rest() async throws {
        let source = Source()
        let cache = source.cache
        #expect(try await cache.counted().age == .milliseconds(10))
        source.pass(.milliseconds(499))
        let kept = try await cache.counted()
        #expect(kept.tally.users == 1 && kept.age == .milliseconds(509))
        source.pass(.milliseconds(1))
        let next = try await cache.counted()
        #expect(next.tally.users == 2 && next.age == .milliseconds(10))
    }

    @Test("keeps none for more than five minutes, whatever held it up")
    func trouble() async throws {
        let source = Source()
        let cache = source.cache
        source.take(.seconds(60))
        #expect(try await cache.counted().tally.users == 1)
        source.pass(.seconds(299))
        #expect(try await cache.counted().tally.users == 1 && source.counts == 1)
        source.pass(.seconds(1))
        _ = try await cache.counted()
        await source.wait(for: 2)
    }

    @Test("counts once for all who ask at once", .timeLimit(.minutes(5)))
    func together() async throws {
        let source = Source()
        let cache = source.cache
        source.hold()
        let found = try await withThrowingTaskGroup(of: TallyCache.Counted.self) { group in
            for _ in 0..<20 { group.addTask { try await cache.counted() } }
            await source.wait(for: 1)
            source.release()
            var found: [TallyCache.Counted] = []
            for try await one in group { found.append(one) }
            return found
        }
        #expect(found.count == 20 && found.allSatisfy { $0.tally.users == 1 })
        #expect(source.counts == 1)
    }

    @Test("counts again in the background if the count was slow", .timeLimit(.minutes(5)))
    func slow() async throws {
        let source = Source()
        let cache = source.cache
        source.take(.seconds(6))
        #expect(try await cache.counted().tally.users == 1)
        source.pass(.seconds(300))
        source.hold()
        for _ in 0..<3 {
            let held = try await cache.counted()
            #expect(held.tally.users == 1 && held.age == .seconds(306))
        }
        await source.wait(for: 2)
        source.release()
        while try await cache.counted().tally.users == 1 { await Task.yield() }
        #expect(source.counts == 2)
    }

    @Test("keeps no count that fails, and none from being tried again")
    func away() async throws {
        let source = Source()
        let cache = source.cache
        source.beAway(true)
        for _ in 0..<2 {
            await #expect(throws: AuthorityError.failed(layer: "store", text: "away")) {
                try await cache.counted()
            }
        }
        source.beAway(false)
        #expect(try await cache.counted().tally.users == 3)
    }
}
