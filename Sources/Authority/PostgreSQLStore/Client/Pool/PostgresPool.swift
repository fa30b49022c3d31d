import LinuxIO
import Synchronization

/// A bounded number of connections, each used by a thread of its own, so that nothing of
/// Swift's concurrency ever waits for the database.
///
/// Connections are opened when they are wanted and replaced when they are gone. Callers are
/// served in the order of their coming. While the database is away, attempts to reach it are
/// spread from 20 ms to 5 s, by one thread at a time; each caller waits for `Bounds.patience`
/// and is then told so.
package final class PostgresPool: Sendable {
    /// How much of the pool there is.
    package struct Bounds: Equatable, Sendable {
        /// The most connections, from 2 to 200.
        package var connections: Int
        /// The most callers that wait while all connections are busy.
        package var waiting = 2000
        /// How long a caller waits for a database that is away.
        package var patience: Duration = .seconds(2)
        /// How long a caller waits for its turn before its work would come too late.
        package var turn: Duration = .seconds(10)

        package init(connections: Int) {
            self.connections = min(max(connections, 2), 200)
        }
    }

    /// For figures.
    package struct Counts: Equatable, Sendable {
        package let open: Int
        package let busy: Int
        package let waiting: Int
        /// Connections that replaced another one.
        package let reconnects: Int
        package let isAway: Bool
    }

    private let core: PoolCore

    /// Opens nothing yet.
    package init(
        _ address: PostgresAddress, _ bounds: Bounds, limits: PostgresLimits = .usual
    ) {
        core = PoolCore(address, bounds, limits)
    }

    deinit { core.close() }

    /// Lends a connection to `body`, on that connection's thread.
    ///
    /// What `body` leaves open, be it a transaction or queued statements, is rolled back. What
    /// it throws comes back as a failure; this itself throws `unreachable`, `overloaded`,
    /// `cancelled` or `closed`, and then `body` has not run. Once `body` runs, a cancelled
    /// task waits for its end.
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

    /// The same for work that nobody waits for here. One of the two closures is called, once.
    func start(
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

    /// Fails all who wait and all who come. Those whose work runs finish it; the connections
    /// close after that, not necessarily before this returns.
    package func close() { core.close() }
}
