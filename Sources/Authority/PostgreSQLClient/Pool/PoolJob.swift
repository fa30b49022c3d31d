import Dispatch
import Synchronization

/// One call that needs a connection.
final class PoolJob: Sendable {
    let asked: ContinuousClock.Instant
    /// Lets the caller cancel the call.
    let turn: PoolTurn
    /// Exactly one of these is called, once.
    let run: @Sendable (PostgresConnection) -> Void
    let fail: @Sendable (PostgresError) -> Void

    init(
        asked: ContinuousClock.Instant, turn: PoolTurn,
        run: @escaping @Sendable (PostgresConnection) -> Void,
        fail: @escaping @Sendable (PostgresError) -> Void
    ) {
        self.asked = asked
        self.turn = turn
        self.run = run
        self.fail = fail
    }
}

/// Whether a call was cancelled.
final class PoolTurn: Sendable {
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }
}

/// The pool's view of one of its threads: the bell that wakes it, and its next call.
final class PoolThread: Sendable {
    let bell = DispatchSemaphore(value: 0)
    let job = Mutex<PoolJob?>(nil)
}

/// The waiting calls, the idle threads, and the state of the database.
struct PoolState {
    /// In the order of arrival. `head` is the first call that was not served.
    private var queue: [PoolJob?] = []
    private var head = 0

    /// The last used thread is used first, so that few connections stay warm.
    var idle: [PoolThread] = []
    var seats = 0
    var open = 0
    var lost = 0
    var reconnects = 0
    var isClosed = false
    var outage: Outage?

    mutating func didOpen() {
        open += 1
        if reconnects < lost { reconnects += 1 }
    }

    mutating func didLose() {
        open -= 1
        lost += 1
    }

    var waiting: Int { queue.count - head }

    mutating func append(_ job: PoolJob) {
        queue.append(job)
    }

    mutating func popFirst() -> PoolJob? {
        guard head < queue.count else { return nil }
        let job = queue[head].take()
        head += 1
        if head > 64, head * 2 > queue.count {
            queue.removeFirst(head)
            head = 0
        }
        return job
    }

    /// Removes the call of `turn`; nil if it does not wait any more.
    mutating func remove(_ turn: PoolTurn) -> PoolJob? {
        guard let place = queue[head...].firstIndex(where: { $0?.turn === turn }) else {
            return nil
        }
        return queue.remove(at: place)
    }

    mutating func removeAll() -> [PoolJob] {
        defer {
            queue = []
            head = 0
        }
        return queue[head...].compactMap(\.self)
    }
}
