import AuthorityCore
import GRDB
import Synchronization

/// Commits transactions that wait for the writer at the same time as one SQLite transaction. They
/// share its sync, which takes longer than all their statements.
///
/// They run one after another, in the order of their arrival. Each runs in a savepoint, so one that
/// throws undoes only itself. No caller gets a result before the commit of the group is synced. If
/// the commit fails, all of them fail, also those that threw: the state that they saw was never
/// committed.
///
/// Source: SQLite, `SAVEPOINT`; "Atomic Commit In SQLite".
final class CommitGroup: Sendable {
    /// One waiting transaction.
    private struct Job: Sendable {
        /// Runs the transaction. Call the returned closure after the group's commit: it resumes the
        /// caller.
        let run: @Sendable (StoreTransaction) throws(AuthorityError) -> Conclusion
        let fail: @Sendable (AuthorityError) -> Void
    }

    private typealias Conclusion = @Sendable () -> Void

    private struct State {
        var waiting: [Job] = []
        /// Whether the writer was called or runs now.
        var isServed = false
        var isDiskFull = false
    }

    /// The most transactions in one commit. The first of them waits for the last.
    static let limit = 256

    private let pool: DatabasePool
    private let wrapping: any SecretWrapping
    private let state = Mutex(State())

    init(_ pool: DatabasePool, _ wrapping: any SecretWrapping) {
        self.pool = pool
        self.wrapping = wrapping
    }

    /// Whether the last change failed because the disk is full.
    var isDiskFull: Bool { state.withLock { $0.isDiskFull } }

    /// The number of transactions that wait for the writer.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` as one transaction of a group. When it returns, the changes of `body` are
    /// durable. When it throws, none of them is kept.
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

    /// Calls the writer once for each group, so that other writes get their turn between groups.
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

    /// Runs as many of `jobs` as possible in one SQLite transaction. A disk error may end that
    /// transaction early.
    private func commit(_ jobs: inout ArraySlice<Job>, _ database: Database) {
        var begun: [(job: Job, outcome: Result<Conclusion, AuthorityError>)] = []
        do {
            try database.beginTransaction(.immediate)
            // Only of an open database: GRDB does not check it here.
            let before = database.totalChangesCount
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
            // If all jobs threw, a commit would still write the undone pages, and others would see
            // a change.
            if isKept { try database.commit() } else { try database.rollback() }
            note(begun.map(\.outcome), isChanged: isKept && database.totalChangesCount > before)
        } catch {
            if database.isInsideTransaction { try? database.rollback() }
            let failure = storeFailure(error)
            if failure.isDiskFull { note(isDiskFull: true) }
            for (job, _) in begun { job.fail(failure) }
            // If the transaction could not begin, none of the jobs can run now.
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

    /// A transaction that has changed nothing shows nothing about the disk.
    private func note(_ outcomes: [Result<Conclusion, AuthorityError>], isChanged: Bool) {
        let isFull = outcomes.contains { outcome in
            if case .failure(let error) = outcome { error.isDiskFull } else { false }
        }
        if isFull { note(isDiskFull: true) } else if isChanged { note(isDiskFull: false) }
    }

    private func note(isDiskFull: Bool) { state.withLock { $0.isDiskFull = isDiskFull } }

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

    /// After some errors SQLite rolls back the whole transaction. Then all jobs of the group fail.
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
