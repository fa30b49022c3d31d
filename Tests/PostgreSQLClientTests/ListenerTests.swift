import PostgresServers
import Testing

@testable import PostgreSQLClient

@Suite("PostgreSQL listener")
struct ListenerTests {
    @Test("hears what others have committed, in order, and nothing that was undone")
    func hears() async throws {
        let server = try await PostgresServer.shared()
        let address = try await PostgresAddress(uri: server.newDatabase(), password: nil)
        let listener = try PostgresListener(address, channel: "postern_test")
        let speaker = try PostgresConnection(address)
        var events = listener.events.makeAsyncIterator()
        #expect(await events.next() == .listening)
        try speaker.begin()
        try speaker.notify("postern_test", "one")
        try speaker.notify("postern_test", "zwei 🌍")
        try speaker.commit()
        try speaker.begin()
        try speaker.notify("postern_test", "undone")
        speaker.rollback()
        try speaker.notify("another", "not ours")
        try speaker.notify("postern_test", "three")
        _ = try speaker.query("SELECT 1")
        #expect(await events.next() == .payload("one"))
        #expect(await events.next() == .payload("zwei 🌍"))
        #expect(await events.next() == .payload("three"))
        listener.close()
        #expect(await events.next() == nil)
    }

    @Test("connects again by itself and says that something may have been missed")
    func reconnects() async throws {
        let server = try await PostgresServer()
        let address = try PostgresAddress(uri: server.uri(), password: nil)
        let listener = try PostgresListener(address, channel: "postern_test")
        var events = listener.events.makeAsyncIterator()
        #expect(await events.next() == .listening)
        try await server.restart(.immediate)
        #expect(await events.next() == .listening)
        let speaker = try PostgresConnection(address)
        try speaker.notify("postern_test", "after")
        _ = try speaker.query("SELECT 1")
        #expect(await events.next() == .payload("after"))
        listener.close()
    }

    @Test("says once more that it listens where its reader was too slow")
    func slowReader() async {
        let (events, relay) = EventRelay.make(backlog: 3)
        for number in 0..<5 { relay.pass(.payload("\(number)")) }
        relay.end()
        let heard = await events.reduce(into: []) { $0.append($1) }
        #expect(heard == [.listening, .payload("4"), .listening])
    }
}
