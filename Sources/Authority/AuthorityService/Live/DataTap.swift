import AuthorityCore
import Cryptography
import Logging
import MQTT
import Sessions
import Wire

/// A second connection to the boards' broker, which hears their data and does nothing else. It
/// stands apart from the one that serves boards, so that no flood of data delays a request.
///
/// What comes is taken with QoS 0: a message missed is a point missed on a chart.
///
/// Boards never retain data. What one retains all the same would fill the broker's memory and
/// outlive the board's session, so it is cleared as it comes, at each connect, and when the board
/// has gone.
actor DataTap {
    static let username = "postern-authority-data"

    let login: BrokerLink.BrokerLogins
    let root: TopicRoot
    /// Has the broker let this client in, where we say whom it lets in; told whether its
    /// password was refused.
    let admit: (@Sendable (_ wasRefused: Bool) async throws(AuthorityError) -> Void)?
    let live: LiveBoards
    /// Empties a topic, over a connection that may write.
    let empty: @Sendable (_ topic: String) async throws(AuthorityError) -> Void
    let logger: Logger

    private var client: BrokerClient?
    /// How many retained messages came.
    private var found = 0
    private var lastWarning: ContinuousClock.Instant?
    private let topics = DataTap.queue()
    private let filters = DataTap.queue()

    /// How many messages wait for us; beyond them some are missed.
    private static let buffer = 1024
    /// How many topics wait to be emptied, and how many filters to be looked through.
    private static let waiting = 4096
    /// How often one filter is looked through, a buffer of messages each time.
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

    /// Has what a board that has gone left on its data topics cleared, soon.
    nonisolated func clear(after board: InstallationID) {
        filters.continuation.yield("\(root)/\(board)/data/#")
    }

    private func take(_ message: IncomingMessage) {
        live.take(message)
        // What we emptied comes by here, too.
        guard message.retain, !message.payload.isEmpty,
            case .data(let board, _, _)? = ContractTopic(message.topic, under: root)
        else { return }
        found += 1
        topics.continuation.yield(message.topic)
        guard lastWarning.map({ .now - $0 > .seconds(60) }) ?? true else { return }
        lastWarning = .now
        logger.warning(
            "a board retains data, which is cleared", metadata: ["board": "\(board)"])
    }

    /// One after the other, so that a flood of them waits here and nowhere else.
    private func emptyTopics() async {
        for await topic in topics.stream {
            do throws(AuthorityError) {
                try await empty(topic)
            } catch {
                // It is found again at the next connect.
                logger.debug("a retained message stays for now: \(error.words)")
            }
        }
    }

    /// Has the broker hand us what it keeps, again while there was more than we could take.
    private func look(through filter: String) async {
        for _ in 0..<Self.rounds {
            // The next connection begins with everything.
            guard let client else { return }
            let before = (dropped: client.droppedMessages, found: found)
            do throws(MQTTError) {
                try await client.subscribe([Subscription(filter, .atMostOnce)], marksRetained: true)
                if filter != all { try await client.unsubscribe([filter]) }
            } catch {
                return logger.debug("what boards retain is cleared later: \(error)")
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
                    "no live data, the broker: \(error)")
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
            throw .brokerLogin("the subscription to data was refused", reasonCode: 0x87)
        }
        return client
    }
}

extension DataTap {
    /// Its account, where we make accounts. Every replica computes the same password: nothing
    /// of it is kept.
    static func account(
        keys: AuthorityKeys, root: TopicRoot
    ) throws(AuthorityError) -> BrokerAccount {
        let bytes = try SystemCryptography().hmac(
            Array("postern data tap \(root)".utf8), key: keys.tokenHash)
        return BrokerAccount(
            username: username, password: SecretBytes(Array(Base64URL.encode(bytes).utf8)),
            clientID: nil, role: BrokerRole(dataTapUnder: root))
    }

    /// Makes the account at a broker that is not ours, or brings it in line; a password that
    /// was refused is set anew.
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
    /// Reads data and writes nothing.
    init(dataTapUnder root: TopicRoot) {
        self.init(person: DataTap.username, filters: ["\(root)/+/data/#"])
    }
}
