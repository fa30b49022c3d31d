import LinuxIO
import Synchronization

/// A limited number of connections. Each is used by its own thread, so that Swift's concurrency
/// never waits for the database.
///
/// Connections are opened when needed and replaced when lost. Callers are served in the order of
/// arrival. While the database is away, one thread at a time tries to reach it, with a backoff from
/// 20 ms to 5 s. A caller waits for `Bounds.patience` and then receives the error.
package final class PostgresPool: Sendable {
    /// The limits of the pool.
    package struct Bounds: Equatable, Sendable {
        /// The most connections, from 2 to 200.
        package var connections: Int
        /// The most callers that wait while all connections are busy.
        package var waiting = 2000
        /// How long a caller waits while the database is away.
        package var patience: Duration = .seconds(2)
        /// How long a caller waits for its turn. After that its work would come too late.
        package var turn: Duration = .seconds(10)

        package init(connections: Int) {
            self.connections = min(max(connections, 2), 200)
        }
    }

    /// Counts for the metrics.
    package struct Counts: Equatable, Sendable {
        package let open: Int
        package let busy: Int
        package let waiting: Int
        /// Connections that replaced a lost one.
        package let reconnects: Int
        package let isAway: Bool
    }

    private let core: PoolCore

    /// Makes the pool. It opens no connection yet.
    package init(
        _ address: PostgresAddress, _ bounds: Bounds, limits: PostgresLimits = .usual
    ) {
        core = PoolCore(address, bounds, limits)
    }

    deinit { core.close() }

    /// Lends a connection to `body`, on the thread of the connection.
    ///
    /// If `body` leaves a transaction or queued statements, they are rolled back. An error of
    /// `body` comes back as a failure. The function itself throws `unreachable`, `overloaded`,
    /// `cancelled` or `closed`; then `body` has not run. Once `body` runs, a cancelled task waits
    /// for its end.
    package func run<R: Sendable, E: Error>(
        _ body: @escaping @Sendable (PostgresConnection) throws(E) -> R
    ) async throws(PostgresError) -> Result<R, E> {
        let turn = PoolTurn()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (waiting: CheckedContinuation<Result<Result<R, E>, PostgresError>, Never>) in
                core.add(PoolJob(
                    asked: .now, turn: turn,
                    run: { connection in
                        let result = Result { () throws(E) in try body(connection) }
                        connection.settle()
                        waiting.resume(returning: .success(result))
                    },
                    fail: { waiting.resume(returning: .failure($0)) }))
            }
        } onCancel: {
            core.cancel(turn)
        }
        return try outcome.get()
    }

    /// Like `run`, but the caller does not wait. One of the two closures is called, once.
    package func start(
        _ body: @escaping @Sendable (PostgresConnection) -> Void,
        orFail fail: @escaping @Sendable (PostgresError) -> Void
    ) {
        core.add(PoolJob(
            asked: .now, turn: PoolTurn(),
            run: { connection in
                body(connection)
                connection.settle()
            }, fail: fail))
    }

    package var counts: Counts { core.counts }

    /// Fails all waiting and new callers. Running work ends normally. The connections close after
    /// that, possibly after this call returns.
    package func close() { core.close() }
}
