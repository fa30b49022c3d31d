import PostgreSQLClient
import PostgresServers
import Testing

@Suite("PostgreSQL holds")
struct HoldTests {
    private let address: PostgresAddress
    private let server: PostgresServer

    init() async throws {
        server = try await .shared()
        // Locks are a database's own: tests beside this one have others.
        address = try await PostgresAddress(uri: server.newDatabase(), password: nil)
    }

    @Test("belong to one process until they are released")
    func exclusive() async throws {
        let one = try PostgresHolds(address)
        let two = try PostgresHolds(address)
        let held = try #require(try await one.hold("sweep"))
        #expect(held.isHeld)
        #expect(try await two.hold("sweep") == nil)
        #expect(try await one.hold("sweep") == nil)
        let other = try #require(try await two.hold("reader"))
        await held.release()
        #expect(!held.isHeld)
        let next = try #require(try await two.hold("sweep"))
        #expect(next.isHeld && other.isHeld)
        await held.release()
        #expect(next.isHeld)
        one.close()
        two.close()
    }

    @Test("are held beside each other or alone, not both")
    func beside() async throws {
        let processes = try (0..<3).map { _ in try PostgresHolds(address) }
        let first = try #require(try await processes[0].hold("serve", beside: true))
        let second = try #require(try await processes[1].hold("serve", beside: true))
        #expect(try await processes[0].hold("serve", beside: true) == nil)
        #expect(try await processes[2].hold("serve") == nil)
        await first.release()
        #expect(try await processes[2].hold("serve") == nil)
        #expect(!first.isHeld && second.isHeld)
        await second.release()
        let alone = try #require(try await processes[2].hold("serve"))
        #expect(try await processes[0].hold("serve", beside: true) == nil)
        await alone.release()
        #expect(try await processes[0].hold("serve", beside: true) != nil)
        for process in processes { process.close() }
    }

    @Test("are gone as soon as their connection is, and can be taken again")
    func lost() async throws {
        let one = try PostgresHolds(address)
        let two = try PostgresHolds(address)
        var all: [HeldName] = []
        for number in 0..<50 {
            all.append(try #require(try await one.hold("name \(number)")))
        }
        let administrator = try PostgresConnection(address)
        _ = try administrator.query("""
            SELECT pg_terminate_backend(pid) FROM pg_locks
            WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND locktype = 'advisory' AND granted GROUP BY pid
            """)
        #expect(await eventually { !all.contains { $0.isHeld } })
        var taken: HeldName?
        let deadline = ContinuousClock.now + .seconds(20)
        while taken == nil, ContinuousClock.now < deadline {
            taken = try await two.hold("name 7")
        }
        #expect(taken?.isHeld == true)
        #expect(try await one.hold("name 7") == nil)
        #expect(try await one.hold("name 8") != nil)
        one.close()
        two.close()
    }

    @Test("go with their process")
    func closed() async throws {
        let one = try PostgresHolds(address)
        let held = try #require(try await one.hold("jobs"))
        one.close()
        #expect(await eventually { !held.isHeld })
        await #expect(throws: PostgresError.closed) { _ = try await one.hold("jobs") }
        await held.release()
    }
}
