import Dispatch
import PostgreSQLClient
import PostgresServers
import Synchronization
import Testing

/// Holds up the threads of a pool until it is opened.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func pass() {
        semaphore.wait()
        semaphore.signal()
    }

    func open() { semaphore.signal() }
}

private final class Served: Sendable {
    private let all = Mutex<[Int]>([])

    var numbers: [Int] { all.withLock { $0 } }

    func add(_ number: Int) { all.withLock { $0.append(number) } }
}

@Suite("PostgreSQL pool")
struct PoolTests {
    private static func ping(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        try connection.query("SELECT true AS yes").first?["yes"] == .bool(true)
    }

    private static func pool(
        _ server: PostgresServer, connections: Int = 4,
        _ change: (inout PostgresPool.Bounds) -> Void = { _ in }
    ) throws -> PostgresPool {
        var bounds = PostgresPool.Bounds(connections: connections)
        change(&bounds)
        let address = try PostgresAddress(uri: server.uri(), password: nil)
        return PostgresPool(address, bounds)
    }

    @Test("serves many callers over few connections")
    func bound() async throws {
        let pool = try await Self.pool(.shared(), connections: 3)
        let good = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<300 {
                group.addTask { (try? await pool.run(Self.ping).get()) ?? false }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(good == 300)
        #expect((1...3).contains(pool.counts.open))
        #expect(pool.counts.waiting == 0 && pool.counts.reconnects == 0)
        pool.close()
        await #expect(throws: PostgresError.closed) { _ = try await pool.run(Self.ping) }
    }

    @Test("serves in the order of their coming and refuses whom it has no room for")
    func order() async throws {
        let pool = try await Self.pool(.shared(), connections: 2) { $0.waiting = 3 }
        let gate = Gate()
        let served = Served()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    _ = try? await pool.run { _ in gate.pass() }
                }
            }
            _ = await eventually { pool.counts.busy == 2 }
            for number in 0..<3 {
                group.addTask {
                    _ = try? await pool.run { _ in served.add(number) }
                }
                _ = await eventually { pool.counts.waiting == number + 1 }
            }
            await #expect(throws: PostgresError.overloaded) { _ = try await pool.run(Self.ping) }
            gate.open()
        }
        // Two threads take them in order, and may overtake each other by one step.
        #expect(Set(served.numbers) == [0, 1, 2])
        #expect(served.numbers.last != 0)
        pool.close()
    }

    @Test("lets go of a caller that is cancelled while it waits")
    func cancelled() async throws {
        let pool = try await Self.pool(.shared(), connections: 2)
        let gate = Gate()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    _ = try? await pool.run { _ in gate.pass() }
                }
            }
            _ = await eventually { pool.counts.busy == 2 }
            let waiting = Task { try await pool.run(Self.ping) }
            _ = await eventually { pool.counts.waiting == 1 }
            waiting.cancel()
            await #expect(throws: PostgresError.cancelled) { _ = try await waiting.value }
            #expect(pool.counts.waiting == 0)
            gate.open()
        }
        pool.close()
    }

    @Test("gives the next caller a connection without the transaction of the last")
    func leftovers() async throws {
        let pool = try await Self.pool(.shared(), connections: 2)
        for _ in 0..<4 {
            let isOpen = try await pool.run { connection throws(PostgresError) in
                let before = connection.isInTransaction
                try connection.begin()
                _ = try connection.query("SELECT 1")
                try connection.send("SELECT 1/0")
                return before
            }
            #expect(try !isOpen.get())
        }
        #expect(pool.counts.reconnects == 0)
        pool.close()
    }

    @Test("replaces connections that the server closed while they were idle, unseen")
    func idleLoss() async throws {
        let server = try await PostgresServer()
        let pool = try Self.pool(server)
        _ = try await pool.run(Self.ping).get()
        for _ in 0..<3 {
            try await server.restart()
            #expect(try await pool.run(Self.ping).get())
        }
        #expect(pool.counts.reconnects == 3)
        #expect(pool.counts.open == 1)
        pool.close()
    }

    @Test("waits a little for a database that is away, then says so, and finds it again")
    func outage() async throws {
        let server = try await PostgresServer(isDurable: true)
        let pool = try Self.pool(server) { $0.patience = .milliseconds(300) }
        _ = try await pool.run(Self.ping).get()
        try await server.stop(.immediate)
        let error = await #expect(throws: PostgresError.self) { _ = try await pool.run(Self.ping) }
        guard case .unreachable(.socket, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.text.hasPrefix("the database cannot be reached (Unix socket): ") == true)
        #expect(pool.counts.isAway && pool.counts.open == 0)
        try await server.start()
        let deadline = ContinuousClock.now + .seconds(20)
        var isBack = false
        while !isBack, ContinuousClock.now < deadline {
            isBack = (try? await pool.run(Self.ping).get()) ?? false
        }
        #expect(isBack && !pool.counts.isAway)
        pool.close()
    }

    @Test("bridges a restart that is over before the patience is")
    func restart() async throws {
        let server = try await PostgresServer()
        let pool = try Self.pool(server) { $0.patience = .seconds(30) }
        try await server.stop()
        let call = Task { try await pool.run(Self.ping).get() }
        _ = await eventually { pool.counts.isAway }
        try await server.start()
        #expect(try await call.value)
        pool.close()
    }

    /// Calls the pool. The calls alone know it.
    private final class Owner: Sendable {
        let pool: PostgresPool

        init(_ pool: PostgresPool) { self.pool = pool }

        func call() async throws -> Bool {
            try await pool.run { _ in _ = self.pool.counts }.get()
            return pool.counts.open > 0
        }
    }

    @Test("ends with its owner, who was part of the calls")
    func end() async throws {
        var owner: Owner? = Owner(try await Self.pool(.shared()))
        weak let pool = owner?.pool
        for _ in 0..<3 { #expect(try await owner?.call() == true) }
        owner = nil
        #expect(await eventually { pool == nil })
    }
}
