import AuthorityBroker
import AuthorityCore
import AuthorityStore
import ConfigurationFiles
import Foundation
import FreePorts
import Logging
import MQTT
import Sessions
import Synchronization
import Wire

@testable import AuthorityService

/// A whole authority in this process: real store, real mosquitto with its access plugin.
final class RunningHouse: Sendable {
    let folder: TemporaryFolder
    let server: AuthorityServer
    let port: UInt16
    let password = SecretBytes("correct horse battery")
    private let task: Task<Void, any Error>

    /// Where its page is.
    let httpPort: UInt16

    /// A new house, or the one in `folder` again; with a broker of its own unless one is given.
    /// With `shared` it is one of several on its records.
    init(
        folder: TemporaryFolder? = nil, broker: ExternalBroker? = nil,
        sharing shared: SharedServer? = nil, data: (any DataStore)? = nil
    ) async throws {
        let isNew = folder == nil
        self.folder = try folder ?? TemporaryFolder()
        port = try broker?.port ?? FreePort.next()
        let httpPort = try FreePort.next()
        self.httpPort = httpPort
        let brokerText = broker.map { broker in
            """
            mode = "external"
            uri = "mqtt://127.0.0.1:\(broker.port)"
            username = "postern-authority"
            password_file = "\(broker.passwordFile)"
            """
        } ?? "listen = \"127.0.0.1:\(port)\""
        let settings = try ServiceSettings(AuthoritySettings.parse(
            """
            name = "Home"
            state_dir = "\(self.folder.path)/state"
            [http]
            listen = "127.0.0.1:\(httpPort)"
            public_url = "https://authority.example"
            [broker]
            \(brokerText)
            """, file: "authority.toml", environment: { _ in nil }))
        if isNew {
            try await StateFolder(path: settings.stateDirectory).found(
                administrator: "ada", password: password, rules: settings.rules)
        }
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let state = StateFolder(settings)
        let store: (any ServiceStore)? = try shared.map { shared in
            let base = try SQLiteAuthorityStore(
                path: state.database, wrapping: MasterKey(at: state.masterKey))
            return SharedStore(base, shared)
        }
        let server = try await AuthorityServer(
            settings: settings, store: store, data: data, logger: logger)
        self.server = server
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        task = Task { try await server.run { _ in isReady.finish() } }
        for await _ in ready {}
        // On a busy machine HTTP opens before the broker is up.
        try await untilTrue { await server.link.isUp }
    }

    /// Ends it and waits until it has ended, its broker too.
    func stop() async {
        task.cancel()
        _ = try? await task.value
    }

    var authority: Authority { server.authority }

    func login() async throws -> Caller {
        let opened = try await authority.login(
            LoginAttempt(username: "ada", password: password, origin: "test"))
        return try await authority.caller(opened.token)
    }

    func connect(
        _ username: String, _ password: SecretBytes, clientID: String
    ) async throws(MQTTError) -> Listener {
        let client = try await BrokerClient.connect(
            ConnectOptions(
                uri: try uri, clientID: clientID, username: username, password: password),
            timeout: .seconds(30))
        return Listener(client)
    }

    private var uri: BrokerURI {
        get throws(MQTTError) {
            do throws(BrokerURI.ParseError) {
                return try BrokerURI("mqtt://127.0.0.1:\(port)")
            } catch {
                throw .invalid("\(error)")
            }
        }
    }

    /// Claims a board and accepts for it, by the broker. Returns its session and its connection.
    func provisioned(
        _ board: BoardDouble, by caller: Caller
    ) async throws -> (session: ObjectID, link: Listener) {
        let claim = try await authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: caller)
        let first = try await until { try? await self.connect(board) }
        try await first.client.subscribe([Subscription(board.inbox)])
        let (_, provision) = try await first.wait(for: board.inbox) {
            try? board.openProvision($0.payload)
        }
        let accepted = BoardMessage(
            id: try .fresh(), issuedAt: systemClock(), clockUnset: false,
            body: .provisionAccepted(re: claim.id, session: provision.session.objectID))
        let payload = try board.seal(accepted.plaintext, to: provision.authority.sealKey)
        _ = try await first.publish(board.outbox, payload)
        try await untilTrue {
            try await self.authority.claim(claim.id, by: caller).state == .accepted
        }
        // The board has a new password from now on.
        let password = try await authority.desiredState(for: board.installation).login?.password
        let link = try await until { try? await self.connect(board, password) }
        return (provision.session.objectID, link)
    }

    /// Connects a board under the password it derives, or another.
    func connect(
        _ board: BoardDouble, _ password: SecretBytes? = nil
    ) async throws -> Listener {
        try await connect(
            board.installation.description, try password ?? board.brokerPassword,
            clientID: "postern-\(board.installation)")
    }
}

/// A client that keeps what it hears.
final class Listener: Sendable {
    let client: BrokerClient
    private let heard = Mutex<[IncomingMessage]>([])
    private let ended = Mutex(false)

    init(_ client: BrokerClient) {
        self.client = client
        Task { [weak self] in
            for await event in client.events {
                switch event {
                case .message(let message): self?.heard.withLock { $0.append(message) }
                case .batch: break
                case .disconnected: self?.ended.withLock { $0 = true }
                }
            }
        }
    }

    var hasEnded: Bool { ended.withLock { $0 } }

    /// How many messages the broker had kept.
    var retainedMessages: Int { heard.withLock { $0.count(where: \.retain) } }

    func messages(on topic: String) -> [IncomingMessage] {
        heard.withLock { $0.filter { $0.topic == topic } }
    }

    /// The first message on `topic` that `read` makes something of.
    func wait<T>(
        for topic: String, _ read: (IncomingMessage) -> T?
    ) async throws -> T {
        try await until { self.messages(on: topic).lazy.compactMap(read).first }
    }

    func publish(_ topic: String, _ payload: [UInt8]) async throws -> UInt8 {
        try await client.publish(OutgoingMessage(topic: topic, payload: payload))
    }
}

struct TimedOut: Error {}

/// What `condition` returns once it returns something; throws after a minute.
func until<T>(_ condition: () async throws -> T?) async throws -> T {
    let limit = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < limit {
        if let result = try await condition() { return result }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw TimedOut()
}

func untilTrue(_ condition: () async throws -> Bool) async throws {
    try await until { try await condition() ? () : nil }
}
