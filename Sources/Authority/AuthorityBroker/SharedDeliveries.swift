import Synchronization

/// Works on lines for callers who do not wait long. A hanging broker may hold one work for seconds,
/// so a line has at most one work that runs and one that waits.
///
/// A caller who comes while one runs shares the next one, because the running one may have read
/// the line's jobs already. Callers leave after `patience`; the work goes on.
final class SharedDeliveries: Sendable {
    typealias Work = @Sendable () async -> Bool

    private let patience: Duration
    /// The callers of the next work of each line. A line is here while one of its works runs.
    private let next = Mutex<[String: [Caller]]>([:])

    init(patience: Duration) { self.patience = patience }

    /// How many callers share the work that waits; nil if none runs.
    func waiting(on line: String) -> Int? { next.withLock { $0[line]?.count } }

    /// What a work says that began after this call; false if it takes longer than `patience`.
    func deliver(_ line: String, _ work: @escaping Work) async -> Bool {
        await withCheckedContinuation { continuation in
            let caller = Caller(continuation, patience)
            let isFirst = next.withLock { next in
                guard next[line] == nil else {
                    next[line]?.append(caller)
                    return false
                }
                next[line] = []
                return true
            }
            if isFirst { Task { await run(line, work, for: [caller]) } }
        }
    }

    private func run(_ line: String, _ work: Work, for first: [Caller]) async {
        var callers = first
        while !callers.isEmpty {
            let isDone = await work()
            for caller in callers { caller.end(isDone) }
            callers = next.withLock { next in
                let callers = next[line] ?? []
                next[line] = callers.isEmpty ? nil : []
                return callers
            }
        }
    }
}

/// Waits for the first of two answers: the work's, or false from the timer.
private struct Caller: Sendable {
    private let answer: FirstAnswer
    private let timer: Task<Void, Never>

    init(_ continuation: CheckedContinuation<Bool, Never>, _ patience: Duration) {
        let answer = FirstAnswer(continuation)
        self.answer = answer
        timer = Task {
            await pause(patience)
            answer.give(false)
        }
    }

    func end(_ isDone: Bool) {
        answer.give(isDone)
        timer.cancel()
    }
}

/// Gives the first of several answers. Later ones are dropped.
private final class FirstAnswer: Sendable {
    private let waiting: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ waiting: CheckedContinuation<Bool, Never>) { self.waiting = Mutex(waiting) }

    func give(_ answer: Bool) {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }?.resume(returning: answer)
    }
}
