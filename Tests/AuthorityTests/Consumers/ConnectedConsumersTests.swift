import AuthorityBroker
import Testing

/// Source of the lines: mosquitto 2.0.11.
@Suite("Connected consumers")
struct ConnectedConsumersTests {
    private static let id = "postern-consumer-aaaaaaaaaa"
    private static let login =
        "1764110000: New client connected from 127.0.0.1:40112 as \(id) (p5, c1, k60, "
        + "u'consumer-aaaaaaaaaa')."

    @Test("are known from the broker's log until it says that they left", arguments: [
        "Client \(id) disconnected.", "Client \(id) closed its connection.",
        "Client \(id) has exceeded timeout, disconnecting.",
        "Client \(id) been disconnected by administrative action.",
        "Client \(id) disconnected: Connection reset by peer.",
        "Client \(id) disconnected due to protocol error.",
        "Bad socket read/write on client \(id): Out of memory.",
    ])
    func ends(line: String) {
        let consumers = ConnectedConsumers()
        #expect(!consumers.contains(Self.id))
        consumers.note(Self.login)
        #expect(consumers.contains(Self.id))
        consumers.note("1764110001: \(line)")
        #expect(!consumers.contains(Self.id))
    }

    @Test("stay when a second connection takes over")
    func takeover() {
        let consumers = ConnectedConsumers()
        consumers.note(Self.login)
        consumers.note("1764110001: Client \(Self.id) already connected, closing old connection.")
        consumers.note(Self.login)
        #expect(consumers.contains(Self.id))
    }

    @Test("are not believed from a client without a password", arguments: [
        "Client \(id) disconnected, not authorised.",
        "Client \(id) disconnected. disconnected, not authorised.",
        "New connection from 127.0.0.1:4 on port 1883.",
        "Client postern-consumer-bbbbbbbbbb closed its connection.",
    ])
    func strangers(line: String) {
        let consumers = ConnectedConsumers()
        consumers.note(Self.login)
        consumers.note("1764110001: \(line)")
        #expect(consumers.contains(Self.id))
    }

    @Test("are consumers alone", arguments: [
        "postern-3f1f7c0e-2b7a-4d4e-9c55-0123456789ab", "postern-person-aaaaaaaaaa",
        "postern-authority", "consumer-aaaaaaaaaa",
    ])
    func others(name: String) {
        let consumers = ConnectedConsumers()
        consumers.note("1: New client connected from 127.0.0.1:1 as \(name) (p5, c1, k60, u'x').")
        #expect(!consumers.contains(name))
    }
}
