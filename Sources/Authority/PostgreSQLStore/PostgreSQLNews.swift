import AuthorityCore
import AuthorityStore
import Synchronization

extension PostgreSQLAuthorityStore {
    /// Written by several at once.
    package var isShared: Bool { true }

    /// One value for each moment at which somebody may have committed what others watch for, a
    /// flurry as one; and for each at which a word of that may have been missed.
    ///
    /// A store that dies between a commit and its word says nothing: look again from time to
    /// time. Nil where no thread can be had for it.
    package func changes() -> AsyncStream<Void>? {
        guard let listener = try? PostgresListener(address, channel: Crier.channel) else {
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

/// Tells all stores on the database that something was committed.
///
/// PostgreSQL lets transactions that notify commit only one after the other, in the whole
/// server. So no transaction of ours does: one that does nothing else says it for all that
/// were committed before it.
///
/// Source: PostgreSQL, `NOTIFY`.
final class Crier: Sendable {
    static let channel = "postern_changes"

    private enum State { case quiet, crying, cryingAgain }

    private let pool: PostgresPool
    private let state = Mutex(State.quiet)

    init(_ pool: PostgresPool) {
        self.pool = pool
    }

    /// After a commit; does not wait until it is said.
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
        // Without the database nobody listens either; who comes back looks for itself.
        _ = try? await pool.run { connection throws(PostgresError) in
            _ = try connection.query("SELECT pg_notify('\(Self.channel)', '')")
        }
        // The next word is for all of the next moment.
        try? await Task.sleep(for: .milliseconds(20))
    }
}
