import AuthorityBroker
import AuthorityCore
import Cryptography
import Logging
import MQTT
import Sessions
import Wire

/// A second connection to the boards' broker, which only reads the boards' data. It is separate
/// from the connection that serves boards, so that no flood of data delays a request.
///
/// It reads with QoS 0: a lost message is a lost point on a chart.
///
/// Boards never retain data. Retained data would fill the broker's memory and outlive the board's
/// session. So it is cleared when it arrives, at each connect, and after the board's login was
/// removed.
actor LiveDataReader {
    static let username = "postern-authority-data"

    let login: BrokerLink.BrokerLogins
    let root: TopicRoot
    /// Makes the broker admit this client, if the authority manages its accounts. The argument says
    /// whether the broker refused the password.
    let admit: (@Sendable (_ wasRefused: Bool) async throws(AuthorityError) -> Void)?
    let live: LiveBoards
    /// Clears a topic's retained message, over a connection that may write.
    let empty: @Sendable (_ topic: String) async throws(AuthorityError) -> Void
    let logger: Logger

    private var client: BrokerClient?
    /// The number of retained messages received.
    private var found = 0
    private var lastWarning: ContinuousClock.Instant?
    private let topics = LiveDataReader.queue()
    private let filters = LiveDataReader.queue()

    /// The number of messages that may wait; more are dropped.
    private static let buffer = 1024
    /// The number of topics that may wait to be cleared, and of filters that may wait to be
    /// searched.
    private static let waiting = 4096
    /// The number of passes over one filter. One pass reads as many messages as the buffer holds.
    private static let rounds = 64

    init(
        login: BrokerLink.BrokerLogins, root: TopicRoot,
        admit: (@Sendable (_ wasRefused: Bool) async throws(AuthorityError) -> Void)?,
        live: LiveBoards,
        empty: @escaping @Sendable (_ topic: String) async throws(AuthorityError) -> Void,
        logger: Logger
    ) {
        (self.login, self.root, self.admit, self.live) = (login, root, admit, live)
        (self.empty, self.logger) = (empty, logger)
    }

    private static func queue() -> (
        stream: AsyncStream<String>, continuation: AsyncStream<String>.Continuation
    ) {
        AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(waiting))
    }

    private var all: String { "\(root)/+/data/#" }

    /// Stays connected until its task is cancelled.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await self.emptyTopics() }
            group.addTask {
                for await filter in self.filters.stream { await self.look(through: filter) }
            }
            await stayConnected()
            group.cancelAll()
        }
    }

    /// Starts to clear the data that a removed board retained.
    nonisolated func clear(after board: InstallationID) {
        filters.continuation.yield("\(root)/\(board)/data/#")
    }

    private func take(_ message: IncomingMessage) {
        live.take(message)
        // A cleared topic arrives here too, with an empty payload.
        guard message.retain, !message.payload.isEmpty,
            case .data(let board, _, _)? = ContractTopic(message.topic, under: root)
        else { return }
        found += 1
        topics.continuation.yield(message.topic)
        guard lastWarning.map({ .now - $0 > .seconds(60) }) ?? true else { return }
        lastWarning = .now
        logger.warning(
            "a board published retained data; it is cleared", metadata: ["board": "\(board)"])
    }

    /// Clears topics one by one, so that a flood of them waits here and nowhere else.
    private func emptyTopics() async {
        for await topic in topics.stream {
            do throws(AuthorityError) {
                try await empty(topic)
            } catch {
                // The next connect finds it again.
                logger.debug("a retained message could not be cleared yet: \(error.words)")
            }
        }
    }

    /// Subscribes again to receive the retained messages, and repeats that while more came than fit
    /// into the buffer.
    private func look(through filter: String) async {
        for _ in 0..<Self.rounds {
            // The next connection reads everything again.
            guard let client else { return }
            let before = (dropped: client.droppedMessages, found: found)
            do throws(MQTTError) {
                try await client.subscribe([Subscription(filter, .atMostOnce)], marksRetained: true)
                if filter != all { try await client.unsubscribe([filter]) }
            } catch {
                return logger.debug("retained data of boards is cleared later: \(error)")
            }
            await pause(.seconds(1))
            if client.droppedMessages == before.dropped || found == before.found { return }
        }
    }

    private func stayConnected() async {
        var pauses = BackOff()
        var wasRefused = false
        while !Task.isCancelled {
            do throws(MQTTError) {
                let client = try await connect(wasRefused)
                (pauses, wasRefused) = (BackOff(), false)
                self.client = client
                live.listen(true)
                filters.continuation.yield(all)
                for await event in client.events {
                    if case .message(let message) = event { take(message) }
                }
                self.client = nil
                live.listen(false)
                await client.close()
            } catch {
                if case .brokerLogin = error { wasRefused = true }
                logger.log(
                    level: pauses.isYoung ? .debug : .warning,
                    "there is no live data, because of the broker: \(error)")
            }
            await pause(pauses.next())
        }
    }

    private func connect(_ wasRefused: Bool) async throws(MQTTError) -> BrokerClient {
        if let admit {
            do throws(AuthorityError) {
                try await admit(wasRefused)
            } catch {
                throw .brokerLogin(error.words, reasonCode: 0x87)
            }
        }
        let options = ConnectOptions(
            uri: login.uri, clientID: login.clientID, cleanStart: true, sessionExpiry: 0,
            keepAlive: 30, receiveMaximum: 64, maximumPacketSize: 2 << 20,
            username: login.username, password: login.password,
            tls: login.tls)
        let client = try await BrokerClient.connect(
            options, timeout: .seconds(5), buffer: Self.buffer)
        let codes: [UInt8]
        do throws(MQTTError) {
            codes = try await client.subscribe(
                [Subscription(all, .atMostOnce)], marksRetained: true)
        } catch {
            await client.close()
            throw error
        }
        guard codes.allSatisfy({ $0 < 0x80 }) else {
            await client.close()
            throw .brokerLogin("the broker refused the subscription to data", reasonCode: 0x87)
        }
        return client
    }
}

extension LiveDataReader {
    /// The tap's account, if the authority manages accounts. Every replica computes the same
    /// password, so it is not stored.
    static func account(
        keys: AuthorityKeys, root: TopicRoot
    ) throws(AuthorityError) -> BrokerAccount {
        let bytes = try SystemCryptography().hmac(
            Array("postern data tap \(root)".utf8), key: keys.tokenHash)
        return BrokerAccount(
            username: username, password: SecretBytes(Array(Base64URL.encode(bytes).utf8)),
            clientID: nil, role: BrokerRole(dataReaderUnder: root))
    }

    /// Creates the account at an external broker, or brings it up to date. A password that was
    /// refused is set again.
    static func admit(
        _ account: BrokerAccount, over link: BrokerLink, wasRefused: Bool
    ) async throws(AuthorityError) {
        var commands = account.creation
        if wasRefused { commands.append(account.passwordChange) }
        for (command, answer) in zip(commands, try await link.control(commands)) {
            guard let error = answer.error, error != DynamicSecurity.clientExists,
                error != DynamicSecurity.roleExists
            else { continue }
            throw .failed(layer: "broker access", text: "\(command.name): \(error)")
        }
    }
}

extension BrokerRole {
    /// A role that reads data and writes nothing.
    init(dataReaderUnder root: TopicRoot) {
        self.init(reader: LiveDataReader.username, filters: ["\(root)/+/data/#"])
    }
}
