import Synchronization
import Testing

@testable import AuthorityBroker

@Suite("A delivery that callers wait for")
struct SharedDeliveryTests {
    /// Works that wait until the test answers them, in order.
    private final class Works: Sendable {
        private let answers: AsyncStream<Bool>
        let answer: AsyncStream<Bool>.Continuation
        private let count = Mutex(0)

        init() { (answers, answer) = AsyncStream.makeStream() }

        var begun: Int { count.withLock(\.self) }

        func run() async -> Bool {
            count.withLock { $0 += 1 }
            for await isDone in answers { return isDone }
            return false
        }
    }

    /// Waits until `condition` holds, for 20 s at most; says whether it did.
    private func eventually(_ condition: () -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if condition() { return true }
            await Task.yield()
        }
        return false
    }

    @Test("leaves one work that runs and one that waits, however often it is repeated")
    func bounded() async throws {
        let (works, deliveries) = (Works(), SharedDeliveries(patience: .zero))
        for _ in 0..<200 { #expect(await !deliveries.deliver("a") { await works.run() }) }
        #expect(await eventually { works.begun == 1 })
        #expect(deliveries.waiting(on: "a") == 199)
        works.answer.yield(true)
        #expect(await eventually { works.begun == 2 })
        works.answer.yield(true)
        #expect(await eventually { deliveries.waiting(on: "a") == nil })
        #expect(works.begun == 2)
    }

    @Test("has the result of the work that began after the call")
    func shared() async throws {
        let (works, deliveries) = (Works(), SharedDeliveries(patience: .seconds(60)))
        async let first = deliveries.deliver("a") { await works.run() }
        #expect(await eventually { works.begun == 1 })
        async let second = deliveries.deliver("a") { await works.run() }
        async let third = deliveries.deliver("a") { await works.run() }
        #expect(await eventually { deliveries.waiting(on: "a") == 2 })
        works.answer.yield(false)
        #expect(await first == false)
        works.answer.yield(true)
        #expect(await second)
        #expect(await third)
        #expect(works.begun == 2)
    }

    @Test("of one line does not wait for another's")
    func apart() async throws {
        let (works, deliveries) = (Works(), SharedDeliveries(patience: .seconds(60)))
        async let hanging = deliveries.deliver("a") { await works.run() }
        #expect(await deliveries.deliver("b") { true })
        works.answer.yield(false)
        #expect(await hanging == false)
    }
}
