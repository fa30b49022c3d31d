import AuthorityCore
import PostgreSQLClient
import Synchronization

extension PostgreSQLAuthorityStore {
    /// Several services may write to it at the same time.
    package var isShared: Bool { true }

    /// Yields a value when somebody may have committed a change that others watch for. Many changes
    /// in a short time give one value. It also yields when a message may have been missed.
    ///
    /// A store that dies between its commit and its message sends no message, so also look from
    /// time to time. Nil if the listener cannot start.
    package func changes() -> AsyncStream<Void>? {
        guard let listener = try? PostgresListener(address, channel: ChangeNotifier.channel) else {
            return nil
        }
        let (stream, input) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            for await _ in listener.events { input.yield() }
            input.finish()
        }
        input.onTermination = { _ in
            task.cancel()
            listener.close()
        }
        return stream
    }
}

/// Tells all stores on the database about commits.
///
/// PostgreSQL commits transactions with a `NOTIFY` only one after another, in the whole server. So
/// our transactions do not notify. A separate transaction notifies for all that were committed
/// before it.
///
/// Source: PostgreSQL, `NOTIFY`.
final class ChangeNotifier: Sendable {
    static let channel = "postern_changes"

    private enum State { case quiet, crying, cryingAgain }

    private let pool: PostgresPool
    private let state = Mutex(State.quiet)

    init(_ pool: PostgresPool) {
        self.pool = pool
    }

    /// Call it after a commit. It does not wait for the message.
    func tell() {
        let isQuiet = state.withLock { state in
            defer { state = state == .quiet ? .crying : .cryingAgain }
            return state == .quiet
        }
        guard isQuiet else { return }
        Task { [self] in
            repeat { await say() } while goesOn()
        }
    }

    private func goesOn() -> Bool {
        state.withLock { state in
            state = state == .cryingAgain ? .crying : .quiet
            return state == .crying
        }
    }

    private func say() async {
        // Without the database nobody listens either. A store that reconnects looks for changes
        // itself.
        _ = try? await pool.run { connection throws(PostgresError) in
            _ = try connection.query("SELECT pg_notify('\(Self.channel)', '')")
        }
        // The pause collects the commits of the next 20 ms for one message.
        try? await Task.sleep(for: .milliseconds(20))
    }
}
