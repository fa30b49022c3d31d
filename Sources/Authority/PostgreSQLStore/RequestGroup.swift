package import AuthorityCore
import AuthorityStore
import Sessions
import Synchronization

/// Requests of boards that wait at the same time share one transaction: one trip to the database
/// for all that they look at first, one for all that they write, and one sync.
///
/// A request changes the records of its own board, so no two of one board are in one transaction:
/// what each looks at first does not depend on the others. If the transaction fails, each request
/// runs in one of its own. Nobody hears of a request before the commit of all is durable.
final class RequestGroup: Sendable {
    /// One request that waits.
    struct Job: Sendable {
        let question: FirstQuestion
        /// Runs the request. Its result answers the waiting task after the commit of the group.
        let run: @Sendable (
            any ServiceTransaction, FirstLook
        ) throws(AuthorityError) -> @Sendable () -> Void
        /// Nil where nothing was kept, and it is to run alone.
        let fail: @Sendable (AuthorityError?) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var servers = 0

        /// Those that wait longest, but one of each board.
        mutating func take() -> [Job] {
            var boards: Set<InstallationID> = []
            var taken: [Job] = []
            var left: [Job] = []
            for job in waiting {
                let isTaken = taken.count < RequestGroup.limit
                    && boards.insert(job.question.board).inserted
                if isTaken { taken.append(job) } else { left.append(job) }
            }
            waiting = left
            return taken
        }
    }

    /// The most that share one commit: the first of them waits for the last.
    static let limit = 64
    /// While one group waits for a lock of another process, a second one goes on.
    static let servers = 2

    /// After so many groups, the connection goes back to the pool, for others that wait.
    static let turns = 8

    private let state = Mutex(State())

    /// Returns whether the caller is to have a connection serve.
    func add(_ job: Job) -> Bool {
        state.withLock { state in
            state.waiting.append(job)
            guard state.servers < Self.servers else { return false }
            state.servers += 1
            return true
        }
    }

    func take() -> [Job] { state.withLock { $0.take() } }

    /// A group is done. Returns whether a connection is to serve again.
    func isWanted() -> Bool {
        state.withLock { state in
            if state.waiting.isEmpty { state.servers -= 1 }
            return !state.waiting.isEmpty
        }
    }
}

extension PostgreSQLAuthorityStore {
    package func transact<R: Sendable>(
        _ question: FirstQuestion,
        _ body: @escaping @Sendable (
            any AuthorityTransaction, FirstLook
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        // Without a session's token it asks for more than a first look: others would wait for it.
        guard question.tokenHash != nil else { return try await alone(question, body) }
        let outcome: Result<R, AuthorityError>? = await withCheckedContinuation { waiting in
            let isFirst = group.add(RequestGroup.Job(
                question: question,
                run: { transaction, look throws(AuthorityError) in
                    let value = try body(transaction, look)
                    return { waiting.resume(returning: .success(value)) }
                },
                fail: { waiting.resume(returning: $0.map { .failure($0) }) }))
            if isFirst { serveGroup() }
        }
        switch outcome {
        case .success(let value): return value
        case .failure(let error): throw noted(error)
        case nil: return try await alone(question, body)
        }
    }

    private func serveGroup() {
        pool.start(
            { [self] connection in
                for _ in 0..<RequestGroup.turns {
                    serve(group.take(), connection)
                    guard group.isWanted() else { return }
                }
                serveGroup()
            },
            orFail: { [self] error in
                for job in group.take() { job.fail(error.authorityError) }
                if group.isWanted() { serveGroup() }
            })
    }

    private func serve(_ jobs: [RequestGroup.Job], _ connection: PostgresConnection) {
        guard !jobs.isEmpty else { return }
        // Whoever is alone in the store is not to be disturbed.
        guard turn.enterNow() else { return jobs.forEach { $0.fail(nil) } }
        defer { turn.leave() }
        var isRefused = false
        let attempt = attempt(connection) { transaction throws(AuthorityError) in
            let looks = try transaction.firstLooks(jobs.map(\.question))
            var conclusions: [@Sendable () -> Void] = []
            for (job, look) in zip(jobs, looks) {
                attempts.note(isAgain: false)
                do throws(AuthorityError) {
                    conclusions.append(try job.run(transaction.forAnotherRequest(), look))
                } catch {
                    isRefused = true
                    throw error
                }
            }
            return conclusions
        }
        switch attempt {
        case .done(let conclusions): for conclude in conclusions { conclude() }
        case .again: for job in jobs { job.fail(nil) }
        // Only whether a commit stands may be unknown: then none may run again.
        case .failed(let error): for job in jobs { job.fail(isRefused ? nil : error) }
        }
    }
}
