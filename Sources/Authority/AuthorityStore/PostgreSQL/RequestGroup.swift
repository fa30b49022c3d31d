package import AuthorityCore
import PostgreSQLClient
import Sessions
import Synchronization

/// Runs board requests that wait at the same time in one transaction. They share one round trip for
/// their first reads, one for their writes, and one sync.
///
/// A request changes only the records of its own board, and a group has at most one request of a
/// board. So the first reads of a request do not depend on the others. If the transaction fails,
/// each request runs in its own transaction. No request gets its result before the commit of the
/// group is durable.
final class RequestGroup: Sendable {
    /// One waiting request.
    struct Job: Sendable {
        let question: FirstQuestion
        /// Runs the request. Its result answers the waiting task after the commit of the group.
        let run: @Sendable (
            any ServiceTransaction, FirstLook
        ) throws(AuthorityError) -> @Sendable () -> Void
        /// Nil if nothing was kept; the request must then run alone.
        let fail: @Sendable (AuthorityError?) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var servers = 0

        /// Takes the requests that wait longest, at most one of each board.
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

    /// The most requests in one commit. The first of them waits for the last.
    static let limit = 64
    /// While one group waits for a lock of another process, a second one goes on.
    static let servers = 2

    /// After this many groups the connection goes back to the pool, for other callers.
    static let turns = 8

    private let state = Mutex(State())

    /// Adds a request. Returns whether the caller must let a connection serve the group.
    func add(_ job: Job) -> Bool {
        state.withLock { state in
            state.waiting.append(job)
            guard state.servers < Self.servers else { return false }
            state.servers += 1
            return true
        }
    }

    func take() -> [Job] { state.withLock { $0.take() } }

    /// Call it after each group. Returns whether the connection must serve again.
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
        // Without a session's token the request needs more than a first read, and others would wait
        // for it.
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
        // Do not disturb a transaction that runs alone in the store.
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
        // An error here may mean that the outcome of the commit is unknown. Then none may run
        // again.
        case .failed(let error): for job in jobs { job.fail(isRefused ? nil : error) }
        }
    }
}
