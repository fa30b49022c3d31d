import AuthorityCore
import GRDB
import Synchronization

/// Short reads that wait at the same time share one reader and one view of the database; each
/// begins after it was asked for, so it sees all that was committed before.
final class GlanceGroup: Sendable {
    /// One that waits; nil where there is no view to read.
    private typealias Job = @Sendable (Result<StoreTransaction, AuthorityError>) -> Void

    private struct State {
        var waiting: [Job] = []
        var isServed = false
    }

    private let pool: DatabasePool
    private let wrapping: any SecretWrapping
    private let state = Mutex(State())

    init(_ pool: DatabasePool, _ wrapping: any SecretWrapping) {
        self.pool = pool
        self.wrapping = wrapping
    }

    func run<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let result: Result<R, AuthorityError> = await withCheckedContinuation { waiting in
            add { transaction in
                waiting.resume(returning: Result { () throws(AuthorityError) in
                    try body(transaction.get())
                })
            }
        }
        return try result.get()
    }

    private func add(_ job: @escaping Job) {
        let isFirst = state.withLock { state in
            state.waiting.append(job)
            defer { state.isServed = true }
            return !state.isServed
        }
        if isFirst { callReader() }
    }

    private func callReader() {
        pool.asyncRead { [self] view in
            let jobs = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for job in jobs {
                job(Result { () throws(AuthorityError) in
                    do {
                        return StoreTransaction(try view.get(), wrapping)
                    } catch {
                        throw storeFailure(error)
                    }
                })
            }
            let isMore = state.withLock { state in
                state.isServed = !state.waiting.isEmpty
                return state.isServed
            }
            if isMore { callReader() }
        }
    }
}
