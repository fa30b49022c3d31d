import AuthorityCore
import GRDB
import Synchronization

/// Transactions that wait for the writer at the same time are one transaction of SQLite: they
/// share its sync, which takes longer than all that they do.
///
/// They run one after the other in the order of their coming, each in a savepoint, so that one
/// that throws undoes itself alone. Nobody hears of his own before the commit of all is synced;
/// if that fails, all have failed, those included that had thrown: what they saw never was.
///
/// Source: SQLite, `SAVEPOINT`; "Atomic Commit In SQLite".
final class CommitGroup: Sendable {
    /// One transaction that waits.
    private struct Job: Sendable {
        /// Runs it; what it returns tells whoever waits, once the group is committed.
        let run: @Sendable (StoreTransaction) throws(AuthorityError) -> Conclusion
        let fail: @Sendable (AuthorityError) -> Void
    }

    private typealias Conclusion = @Sendable () -> Void

    private struct State {
        var waiting: [Job] = []
        /// Whether the writer will come, or is at it.
        var isServed = false
    }

    /// The most that share one commit: the first of them waits for the last.
    static let limit = 256

    private let pool: DatabasePool
    private let wrapping: any SecretWrapping
    private let state = Mutex(State())

    init(_ pool: DatabasePool, _ wrapping: any SecretWrapping) {
        self.pool = pool
        self.wrapping = wrapping
    }

    /// How many transactions wait for the writer.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` as a transaction of its own within a group. When it returns, what `body` did
    /// is durable; when it throws, nothing of it was kept.
    func run<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let result: Result<R, AuthorityError> = await withCheckedContinuation { waiting in
            add(Job(
                run: { transaction throws(AuthorityError) in
                    let value = try body(transaction)
                    return { waiting.resume(returning: .success(value)) }
                },
                fail: { waiting.resume(returning: .failure($0)) }))
        }
        return try result.get()
    }

    private func add(_ job: Job) {
        let isFirst = state.withLock { state in
            state.waiting.append(job)
            defer { state.isServed = true }
            return !state.isServed
        }
        if isFirst { callWriter() }
    }

    /// The writer comes once for each group, so that what else waits for it has its turn.
    private func callWriter() {
        pool.asyncWriteWithoutTransaction { [self] database in
            var jobs = state.withLock { state in
                let taken = state.waiting.prefix(Self.limit)
                state.waiting.removeFirst(taken.count)
                return taken
            }
            while !jobs.isEmpty { commit(&jobs, database) }
            let isMore = state.withLock { state in
                state.isServed = !state.waiting.isEmpty
                return state.isServed
            }
            if isMore { callWriter() }
        }
    }

    /// One transaction of SQLite with as many of `jobs` as it lives for: an error of the disk
    /// may end it before its time.
    private func commit(_ jobs: inout ArraySlice<Job>, _ database: Database) {
        var begun: [(job: Job, outcome: Result<Conclusion, AuthorityError>)] = []
        do {
            try database.beginTransaction(.immediate)
            while let job = jobs.first {
                let outcome = attempt(job, database)
                jobs.removeFirst()
                begun.append((job, outcome))
                if case .failure(let error) = outcome { try undo(after: error, database) }
                else { try database.release() }
            }
            let isKept = begun.contains { _, outcome in
                if case .success = outcome { true } else { false }
            }
            // Where all threw, a commit would still write what was undone, and others see one.
            if isKept { try database.commit() } else { try database.rollback() }
        } catch {
            if database.isInsideTransaction { try? database.rollback() }
            let failure = storeFailure(error)
            for (job, _) in begun { job.fail(failure) }
            // Not even begun: then none of them can be, now.
            guard begun.isEmpty else { return }
            for job in jobs { job.fail(failure) }
            jobs = []
            return
        }
        for (job, outcome) in begun {
            switch outcome {
            case .success(let conclude): conclude()
            case .failure(let error): job.fail(error)
            }
        }
    }

    private func attempt(
        _ job: Job, _ database: Database
    ) -> Result<Conclusion, AuthorityError> {
        Result { () throws(AuthorityError) in
            do {
                try database.save()
            } catch {
                throw storeFailure(error)
            }
            return try job.run(StoreTransaction(database, wrapping))
        }
    }

    /// After some errors SQLite has undone the whole transaction by itself; then so have all.
    private func undo(after error: AuthorityError, _ database: Database) throws {
        guard database.isInsideTransaction else { throw error }
        try database.restore()
    }
}

extension Database {
    fileprivate func save() throws {
        try cachedStatement(sql: "SAVEPOINT body").execute()
    }

    fileprivate func release() throws {
        try cachedStatement(sql: "RELEASE SAVEPOINT body").execute()
    }

    fileprivate func restore() throws {
        try cachedStatement(sql: "ROLLBACK TO SAVEPOINT body").execute()
        try release()
    }
}
