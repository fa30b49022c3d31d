import AuthorityCore
import PostgreSQLClient
import Synchronization

/// The outcome of running a body once.
enum Attempt<R: Sendable>: Sendable {
    case done(R)
    /// Nothing was kept. The transaction may be run again.
    case again(PostgresError)
    /// Nothing was kept, or the outcome is unknown. Do not run it again here.
    case failed(AuthorityError)
}

extension PostgreSQLAuthorityStore {
    /// After two lost tries, a transaction waits for its turn among all stores on the database.
    /// Nothing else then runs in its own store. So each one gets through, even if many want the
    /// same rows or share the pages of a small table.
    private static let freeTries = 2
    private static let tries = 40

    func write<R: Sendable>(
        _ body: @escaping @Sendable (any ServiceTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        var last = PostgresError.overloaded
        for number in 0..<Self.tries {
            attempts.note(isAgain: number > 0)
            switch try await run(body, inTurn: number >= Self.freeTries) {
            case .done(let value): return value
            case .failed(let error): throw noted(error)
            case .again(let error):
                last = error
                guard Self.isRepeatable(error, number) else { throw noted(error.authorityError) }
            }
            if number < Self.freeTries { await pause(after: number) }
        }
        throw .failed(
            layer: "store",
            text: "the database is busy: gave up after \(Self.tries) tries, last: \(last.text)")
    }

    private func run<R: Sendable>(
        _ body: @escaping @Sendable (any ServiceTransaction) throws(AuthorityError) -> R,
        inTurn: Bool
    ) async throws(AuthorityError) -> Attempt<R> {
        await turn.enter(alone: inTurn)
        defer { turn.leave() }
        do throws(PostgresError) {
            return try await pool.run { [self] connection in
                inTurn ? attemptInTurn(connection, body) : attempt(connection, body)
            }.get()
        } catch {
            throw noted(error.authorityError)
        }
    }

    /// A lost race may be repeated up to the limit of tries, other errors only a few times.
    private static func isRepeatable(_ error: PostgresError, _ number: Int) -> Bool {
        guard case .server(let state, _) = error else { return number < 2 }
        return state.isWorthAnotherTry || number < 4
    }

    /// Waits a random time, so that transactions in conflict do not retry together.
    private func pause(after number: Int) async {
        let most = 1000 << number
        try? await Task.sleep(for: .microseconds(Int.random(in: 0..<most)))
    }

    private static var turnLock: Int64 { 0x706F_7374_6572_6E02 }

    /// The lock is taken before the transaction has its view of the database, and released after
    /// the commit. So the next transaction sees all changes of this one.
    private func attemptInTurn<R: Sendable>(
        _ connection: PostgresConnection,
        _ body: (any ServiceTransaction) throws(AuthorityError) -> R
    ) -> Attempt<R> {
        do throws(PostgresError) {
            _ = try connection.query(
                "SELECT pg_advisory_lock($1)", [.integer(Self.turnLock)])
        } catch {
            return Self.judged(error)
        }
        let attempt = attempt(connection, body)
        if connection.isUsable {
            do throws(PostgresError) {
                _ = try connection.query(
                    "SELECT pg_advisory_unlock($1)", [.integer(Self.turnLock)])
            } catch {
                // The lock ends with the connection.
                connection.abandon()
            }
        }
        return attempt
    }

    func attempt<R: Sendable>(
        _ connection: PostgresConnection,
        _ body: (any ServiceTransaction) throws(AuthorityError) -> R
    ) -> Attempt<R> {
        let runner = PostgreSQLRunner(connection, beginsLate: true)
        let transaction = tables(over: runner, wrapping: wrapping)
        let outcome: Result<R, AuthorityError>
        do throws(PostgresError) {
            outcome = Result { () throws(AuthorityError) in try body(transaction) }
            if let failure = runner.failure { throw failure }
            guard case .success = outcome else {
                connection.rollback()
                return Self.concluded(outcome)
            }
            if transaction.isNews { try tellOthers(connection) }
            if runner.hasBegun {
                try connection.commit()
                full.store(false, ordering: .relaxed)
            }
        } catch {
            connection.rollback()
            return Self.judged(error)
        }
        if transaction.isNews { crier.tell() }
        clean(connection, runner)
        return Self.concluded(outcome)
    }

    private static func concluded<R>(_ outcome: Result<R, AuthorityError>) -> Attempt<R> {
        switch outcome {
        case .success(let value): .done(value)
        case .failure(let error): .failed(error)
        }
    }

    private static func judged<R>(_ error: PostgresError) -> Attempt<R> {
        switch error {
        case .server(let state, _) where state.isWorthAnotherTry || state == .uniqueViolation
            || state == .lockNotAvailable || state.spoilsStatements:
            .again(error)
        // The server was restarted, or ended an idle connection.
        case .lost(_, whileCommitting: false): .again(error)
        default: .failed(error.authorityError)
        }
    }

    /// Runs the clean-up statements after the commit. If they fail here, the next clean-up removes
    /// the rest.
    private func clean(_ connection: PostgresConnection, _ runner: PostgreSQLRunner) {
        do throws(PostgresError) {
            for (sql, values) in runner.afterwards { try connection.send(sql, values) }
            if !runner.afterwards.isEmpty { _ = try connection.query("SELECT 1::int8 AS done") }
        } catch {
            connection.rollback()
        }
    }

    private func tellOthers(_ connection: PostgresConnection) throws(PostgresError) {
        try connection.send(
            """
            INSERT INTO news (store, connection, count, at)
            VALUES ($1, pg_backend_pid(), 1, now())
            ON CONFLICT (store, connection) DO UPDATE SET count = news.count + 1, at = now()
            """, [.text(name)])
    }

    /// Reads from a view that does not change. With `isShort`, one statement alone is such a view.
    /// If the body needs more statements, it is run again in a transaction.
    func look<R: Sendable>(
        isShort: Bool,
        _ body: @escaping @Sendable (any ServiceTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        var isShort = isShort
        for _ in 0..<3 {
            let once = isShort
            let attempt: Attempt<R>
            do throws(PostgresError) {
                attempt = try await pool.run { [wrapping] connection in
                    Self.look(once, connection, wrapping, body)
                }.get()
            } catch {
                throw noted(error.authorityError)
            }
            switch attempt {
            case .done(let value): return value
            case .failed(let error): throw noted(error)
            case .again(.overloaded): isShort = false
            case .again: continue
            }
        }
        throw noted(.failed(
            layer: StoreOpening.away, text: "the database connection was lost in several tries"))
    }

    /// Counts the error if the database was away, and notes a full disk.
    func noted(_ error: AuthorityError) -> AuthorityError {
        if error.isDiskFull { full.store(true, ordering: .relaxed) }
        if case .failed(layer: StoreOpening.away, _) = error { lost.add(1, ordering: .relaxed) }
        return error
    }

    private static func look<R: Sendable>(
        _ isShort: Bool, _ connection: PostgresConnection, _ wrapping: any SecretWrapping,
        _ body: (any ServiceTransaction) throws(AuthorityError) -> R
    ) -> Attempt<R> {
        let runner = PostgreSQLRunner(connection, allowance: isShort ? 1 : nil)
        do throws(PostgresError) {
            if !isShort { try connection.begin(.repeatableRead, readOnly: true) }
            let outcome = Result { () throws(AuthorityError) in
                try body(tables(over: runner, wrapping: wrapping))
            }
            if let failure = runner.failure { throw failure }
            if runner.isExhausted { return .again(.overloaded) }
            if !isShort { connection.rollback() }
            return concluded(outcome)
        } catch {
            connection.rollback()
            return judged(error)
        }
    }
}

/// Counts the runs of transactions, and how many of them were retries.
package final class AttemptCount: Sendable {
    private let counts = Mutex<(all: Int, again: Int)>((0, 0))

    package init() {}

    func note(isAgain: Bool) {
        counts.withLock { counts in
            counts.all += 1
            if isAgain { counts.again += 1 }
        }
    }

    package var current: (all: Int, again: Int) { counts.withLock { $0 } }
}

/// Admits many at once, or one alone, in the order of arrival.
final class Turn: Sendable {
    private struct Waiting {
        let isAlone: Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var inside = 0
        var isOneAlone = false
        var waiting: [Waiting] = []

        mutating func admit(alone: Bool) -> Bool {
            guard !isOneAlone, inside == 0 || !alone else { return false }
            inside += 1
            isOneAlone = alone
            return true
        }
    }

    private let state = Mutex(State())

    /// Waits for admission. Each caller of `enter` must call `leave`.
    func enter(alone: Bool) async {
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state in
                // Nobody overtakes a caller that waits to be alone.
                if state.waiting.isEmpty, state.admit(alone: alone) { return true }
                state.waiting.append(Waiting(isAlone: alone, continuation: continuation))
                return false
            }
            if isIn { continuation.resume() }
        }
    }

    /// Enters without waiting. False if somebody is alone or waits to be.
    func enterNow() -> Bool {
        state.withLock { $0.waiting.isEmpty && $0.admit(alone: false) }
    }

    func leave() {
        let next = state.withLock { state -> [Waiting] in
            state.inside -= 1
            state.isOneAlone = false
            var count = 0
            while count < state.waiting.count, state.admit(alone: state.waiting[count].isAlone) {
                count += 1
            }
            defer { state.waiting.removeFirst(count) }
            return Array(state.waiting.prefix(count))
        }
        for waiting in next { waiting.continuation.resume() }
    }
}
