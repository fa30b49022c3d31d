import AuthorityCore
import Logging
import MQTT
import Sessions
import Testing
import Wire

@testable import AuthorityBroker

@Suite("Client's place", .serialized)
struct ClientTakeoverTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test("is taken, which ends the connection, and left; one that is free as well")
    func taken() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let login = try login(at: broker)
        let takeover = ClientTakeover(login: login, logger: quiet)
        for isFinal in [false, true] {
            let client = try await until { try? await connect(login, as: "postern-board") }
            try await takeover.end("postern-board", isFinal: isFinal)
            try await untilTrue { !client.isConnected }
            try await takeover.end("postern-board", isFinal: isFinal)
        }
        let again = try await connect(login, as: "postern-board")
        #expect(again.isConnected)
        await again.close()
        await broker.stop()
    }

    @Test("is kept for a while at the last, and taken again from who slips in")
    func slippedIn() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let login = try login(at: broker)
        let first = try await until { try? await connect(login, as: "first") }
        await first.close()
        // Let in by an answer of before: it comes twice, and then stays away.
        let intruder = Task {
            for _ in 0..<2 {
                await pause(.milliseconds(100))
                let client = try await connect(login, as: "postern-board")
                try await untilTrue { !client.isConnected }
            }
        }
        // Long enough for one who comes late because the machine is busy.
        try await ClientTakeover(login: login, logger: quiet, watch: .seconds(12))
            .end("postern-board", isFinal: true)
        try await intruder.value
        await broker.stop()
    }

    @Test("that cannot be taken is a failure, to be tried again")
    func unreachable() async throws {
        let broker = try ExternalBroker()
        let takeover = ClientTakeover(login: try login(at: broker), logger: quiet)
        await #expect(throws: AuthorityError.self) {
            try await takeover.end("postern-board", isFinal: true)
        }
    }

    @Test("is proven by two of one id, asked for once by all who wait")
    func proven() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let login = try login(at: broker)
        let first = try await until { try? await connect(login, as: "first") }
        await first.close()
        let proof = TakeoverProof(ClientTakeover(login: login, logger: quiet))
        let began = ContinuousClock.now
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { await proof.holds(since: began) } }
            for await holds in group { #expect(holds) }
        }
        await broker.stop()
        // What was seen counts until somebody asks for more.
        #expect(await proof.holds(since: began))
        #expect(await proof.holds(since: .now) == false)
    }

    private func login(at broker: ExternalBroker) throws -> BrokerLink.BrokerLogins {
        BrokerLink.BrokerLogins(
            uri: try BrokerURI("mqtt://127.0.0.1:\(broker.port)"), clientID: "authority",
            username: EmbeddedBroker.username, password: broker.password, caFile: nil,
            isAlone: false)
    }

    private func connect(
        _ login: BrokerLink.BrokerLogins, as client: String
    ) async throws -> BrokerClient {
        try await BrokerClient.connect(
            ConnectOptions(
                uri: login.uri, clientID: client, username: login.username,
                password: login.password))
    }
}
