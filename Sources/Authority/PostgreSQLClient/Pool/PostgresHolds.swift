import LinuxIO
import Synchronization

/// Names that one process holds alone, or several processes together. They are session-level
/// advisory locks of one connection: thousands of names need one connection, and no lock outlives
/// it.
///
/// The end of the connection is noticed when the kernel knows of it. That is at once if the server
/// closes it, and after about 11 s if the network drops everything. From then on `isHeld` is false.
///
/// Another process may hold the name before this one has noticed. So a hold spreads work and avoids
/// double work, but does not exclude it. Work that must not happen twice also needs a conditional
/// write, in a transaction.
///
/// Source: PostgreSQL, 13.3.5 "Advisory Locks".
package final class PostgresHolds: Sendable {
    private let core: HoldCore

    /// Connects at the first hold.
    package init(_ address: PostgresAddress) throws(PostgresError) {
        do throws(SystemError) {
            let core = HoldCore(address.impatient, try EventDescriptor())
            self.core = core
            try WorkerThread(name: "db-holds") { core.serve() }.detach()
        } catch {
            throw PostgresError(error)
        }
    }

    deinit { core.close() }

    /// Takes `name`; nil if another process has it, or this process already. With `beside`, several
    /// processes may hold it together, unless one has it alone.
    ///
    /// Throws `unreachable`, `lost` or `closed`. Then nothing is held.
    package func hold(
        _ name: String, beside others: Bool = false
    ) async throws(PostgresError) -> HeldName? {
        let core = self.core
        let outcome: Result<HeldName?, PostgresError> = await withCheckedContinuation { waiting in
            core.ask(.take(name, beside: others) { waiting.resume(returning: $0) })
        }
        return try outcome.get()
    }

    /// Releases all names.
    package func close() { core.close() }
}

/// A name that is or was held.
package final class HeldName: Sendable {
    let name: String
    /// Whether others may also hold it.
    let isBeside: Bool
    private let core: HoldCore
    private let held = Atomic(true)

    fileprivate init(_ name: String, beside others: Bool, _ core: HoldCore) {
        self.name = name
        isBeside = others
        self.core = core
    }

    /// False after it was released, or after its connection was lost.
    package var isHeld: Bool { held.load(ordering: .acquiring) }

    /// Returns when another process can take the name.
    package func release() async {
        await withCheckedContinuation { waiting in
            core.ask(.release(self) { waiting.resume() })
        }
    }

    /// False if it was already released or lost.
    fileprivate func drop() -> Bool { held.exchange(false, ordering: .acquiringAndReleasing) }
}

/// The thread of the holds, and the requests to it.
private final class HoldCore: Sendable {
    enum Request: Sendable {
        case take(
            String, beside: Bool, @Sendable (Result<HeldName?, PostgresError>) -> Void)
        case release(HeldName, @Sendable () -> Void)
    }

    private struct State {
        var requests: [Request] = []
        var isClosed = false
    }

    private let address: PostgresAddress
    private let bell: EventDescriptor
    private let state = Mutex(State())

    init(_ address: PostgresAddress, _ bell: EventDescriptor) {
        self.address = address
        self.bell = bell
    }

    func ask(_ request: Request) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.requests.append(request) }
            return state.isClosed
        }
        if isClosed { refuse(request) } else { bell.raise() }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        bell.raise()
    }

    func serve() {
        var session = HoldSession(address)
        let watch = ConnectionWatch(bell)
        while true {
            session.look()
            let (requests, isClosed) = state.withLock { state in
                defer { state.requests = [] }
                return (state.requests, state.isClosed)
            }
            guard !isClosed else {
                session.end()
                for request in requests { refuse(request) }
                return
            }
            for request in requests {
                switch request {
                case .take(let name, let others, let answer):
                    answer(session.take(name, beside: others, self))
                case .release(let name, let answer):
                    session.release(name)
                    answer()
                }
            }
            // A request that arrived meanwhile has raised the bell.
            watch.wait(for: session.connection)
        }
    }

    private func refuse(_ request: Request) {
        switch request {
        case .take(_, _, let answer): answer(.failure(.closed))
        case .release(let name, let answer):
            _ = name.drop()
            answer()
        }
    }
}

/// The connection of the holds, with the names that it holds. On one thread.
private struct HoldSession {
    private let address: PostgresAddress
    private(set) var connection: PostgresConnection?
    private var names: [String: HeldName] = [:]
    /// Nil while the database can be reached.
    private var outage: Outage?

    /// The longest pause between two tries. After an outage it must soon be known which process
    /// serves.
    private static let pause = Duration.seconds(1)

    /// The hash of a name of ours. Another program's lock has the same hash with a chance of one in
    /// 2⁶⁴.
    private static let key = "hashtextextended('postern hold ' || $1::text, 0)"

    init(_ address: PostgresAddress) {
        self.address = address
    }

    /// Checks the connection. If it is gone, all its names are lost.
    mutating func look() {
        if let connection, !connection.isAlive { end() }
    }

    mutating func end() {
        for name in names.values { _ = name.drop() }
        names = [:]
        connection = nil
    }

    mutating func take(
        _ name: String, beside others: Bool, _ core: HoldCore
    ) -> Result<HeldName?, PostgresError> {
        look()
        if names[name] != nil { return .success(nil) }
        do throws(PostgresError) {
            let current = try connected()
            let rows = try current.query(
                "SELECT pg_try_advisory_lock\(others ? "_shared" : "")(\(Self.key)) AS taken",
                [.text(name)])
            guard rows.first?["taken"] == .bool(true) else { return .success(nil) }
            let held = HeldName(name, beside: others, core)
            names[name] = held
            return .success(held)
        } catch {
            // After any error it is unknown which names are held.
            end()
            return .failure(error)
        }
    }

    /// Returns the connection, or opens it. Between two tries it throws the last error.
    private mutating func connected() throws(PostgresError) -> PostgresConnection {
        if let connection { return connection }
        if let outage, ContinuousClock.now < outage.nextTry { throw outage.error }
        do throws(PostgresError) {
            let made = try begin()
            (connection, outage) = (made, nil)
            return made
        } catch {
            let (now, chance) = (ContinuousClock.now, Double.random(in: 0...1))
            var next = outage ?? Outage(error, at: now, chance: chance)
            next.fail(error, at: now, chance: chance, atMost: Self.pause)
            outage = next
            throw error
        }
    }

    /// Opens the connection. The server also must notice soon that this machine is gone: until
    /// then, our locks stay. Source: PostgreSQL, 20.3.2 "TCP Settings".
    private func begin() throws(PostgresError) -> PostgresConnection {
        let connection = try PostgresConnection(address)
        _ = try connection.query("""
            SELECT set_config('tcp_keepalives_idle', '5', false) AS idle,
                set_config('tcp_keepalives_interval', '2', false) AS interval,
                set_config('tcp_keepalives_count', '3', false) AS count
            """)
        return connection
    }

    mutating func release(_ held: HeldName) {
        guard held.drop(), names.removeValue(forKey: held.name) != nil else { return }
        do throws(PostgresError) {
            let kind = held.isBeside ? "_shared" : ""
            _ = try connection?.query(
                "SELECT pg_advisory_unlock\(kind)(\(Self.key)) AS freed", [.text(held.name)])
        } catch {
            end()
        }
    }
}
