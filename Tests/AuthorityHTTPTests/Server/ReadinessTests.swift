import Synchronization
import Testing

@testable import AuthorityHTTP

@Suite("Readiness")
struct ReadinessTests {
    @Test("says whether answers can be had")
    func word() async {
        #expect(await Readiness().word() == .ok)
        #expect(await Readiness { false }.word() == .storeAway)
        #expect(await Readiness(isFull: { true }).word() == .storeFull)
        #expect(await Readiness({ false }, isFull: { true }).word() == .storeAway)
    }

    @Test("looks no more often than once a second, however many ask")
    func bounded() async {
        let looks = Mutex(0)
        let readiness = Readiness {
            looks.withLock { $0 += 1 }
            return true
        }
        for _ in 0..<50 { #expect(await readiness.word() == .ok) }
        // A slow machine may take longer than a second over fifty of them.
        #expect(looks.withLock { $0 } < 5)
    }

    @Test("waits for no look that hangs, and hears of it when it ends", .timeLimit(.minutes(1)))
    func hanging() async {
        let (end, ending) = AsyncStream<Void>.makeStream()
        let looks = Mutex(0)
        let readiness = Readiness(within: .milliseconds(20)) {
            looks.withLock { $0 += 1 }
            for await _ in end {}
            return true
        }
        #expect(await readiness.word() == .storeAway)
        #expect(await readiness.word() == .storeAway)
        #expect(looks.withLock { $0 } == 1)
        ending.finish()
        while await readiness.word() != .ok { await Task.yield() }
    }

    @Test("has requests go elsewhere from the moment that it leaves")
    func draining() async {
        let readiness = Readiness()
        readiness.drain()
        #expect(readiness.isDraining)
        #expect(await readiness.word() == .draining)
    }

    @Test("closes what it is the readiness of, also what begins later")
    func closing() {
        let closed = Mutex(0)
        let early = Readiness()
        early.onClose { closed.withLock { $0 += 1 } }
        #expect(closed.withLock { $0 } == 0)
        early.close()
        let late = Readiness()
        late.close()
        late.onClose { closed.withLock { $0 += 1 } }
        #expect(closed.withLock { $0 } == 2)
    }
}
