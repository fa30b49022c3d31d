package import AuthorityCore
package import ConfigurationFiles
package import Logging
package import MQTT
package import Sessions
import Synchronization
package import Wire

/// The authority's connection to the boards' broker. When it ends, it is made again, with backoff.
/// It also holds the commands that wait for an answer of the plugin.
package actor BrokerLink {
    private let login: BrokerLogins
    private let logger: Logger
    private let line = Mutex(Line())
    private var waiting: [String: CheckedContinuation<Void, Never>] = [:]
    private var expected: [String: [String]] = [:]
    private var arrived: [String: [DynamicSecurity.Response]] = [:]
    private var lastCorrelation = 0
    private let answerLimit: Duration
    private let duty: ReaderDuty?
    private var isRetired = false
    /// Whether the broker has accepted MQTT 5 before.
    private var hasSpoken5 = false

    /// The state for publishing. It is behind a lock, so that a reply to a board does not wait for
    /// this actor.
    private struct Line {
        var client: BrokerClient?
        /// The number of connections so far.
        var connections = 0
        /// The publish time of each message that the broker has not confirmed.
        var unconfirmed: [Int: ContinuousClock.Instant] = [:]
        var last = 0

        /// Nil if there is no connection.
        mutating func begin() -> (client: BrokerClient, number: Int)? {
            guard let client else { return nil }
            last += 1
            unconfirmed[last] = .now
            return (client, last)
        }
    }

    private var client: BrokerClient? { line.withLock { $0.client } }

    /// How this authority logs in. Each replica has its own `clientID`.
    package struct BrokerLogins: Sendable {
        package let uri: BrokerURI
        package let clientID: String
        package let username: String?
        package let password: SecretBytes?
        package let caFile: String?
        /// The client certificate, if the broker asks for one.
        package var identity: TLSIdentity?
        /// Whether the broker queues boards' messages while this authority is away. Only for a
        /// single authority: otherwise another one reads them.
        let isAlone: Bool

        package init(
            uri: BrokerURI, clientID: String, username: String?, password: SecretBytes?,
            caFile: String?, identity: TLSIdentity? = nil, isAlone: Bool
        ) {
            (self.uri, self.clientID) = (uri, clientID)
            (self.username, self.password) = (username, password)
            (self.caFile, self.identity) = (caFile, identity)
            self.isAlone = isAlone
        }

        package var tls: TLSOptions {
            TLSOptions(
                caFile: caFile, certificateFile: identity?.certificateFile,
                keyFile: identity?.keyFile)
        }
    }

    /// `answerLimit` is the time limit for each confirmation by the broker. Without `duty` there is
    /// no other authority.
    package init(
        login: BrokerLogins, logger: Logger, answerLimit: Duration = .seconds(10),
        duty: ReaderDuty? = nil
    ) {
        self.duty = duty
        self.login = login
        self.answerLimit = answerLimit
        self.logger = logger
    }

    /// Stays connected until its task is cancelled. `onUp` is called after each connect, when the
    /// subscriptions are made, in parallel with the messages. `onMessage` receives the messages one
    /// by one.
    package func run(
        subscriptions: [Subscription], onUp: @escaping @Sendable () async -> Void,
        onMessage: @escaping @Sendable (IncomingMessage) async -> Void
    ) async {
        var pauses = BackOff()
        while !Task.isCancelled {
            do throws(MQTTError) {
                let client = try await connect(subscriptions)
                pauses = BackOff()
                await serve(client, subscriptions, onUp, onMessage)
            } catch {
                logger.log(level: pauses.isYoung ? .debug : .warning, "the broker: \(error)")
            }
            let last = client
            drop()
            // Sends DISCONNECT if the authority ends the connection.
            await last?.close()
            // Without a connection this authority reads nothing, so another one may have the duty.
            await duty?.release()
            await pause(pauses.next())
        }
    }

    private func connect(
        _ subscriptions: [Subscription]
    ) async throws(MQTTError) -> BrokerClient {
        let options = ConnectOptions(
            uri: login.uri, clientID: login.clientID, cleanStart: !login.isAlone,
            sessionExpiry: login.isAlone ? 3600 : 0, keepAlive: 30, receiveMaximum: 1024,
            maximumPacketSize: 64 << 20, username: login.username, password: login.password,
            tls: login.tls)
        let client = try await BrokerClient.connect(
            options, hasSpoken5: hasSpoken5, timeout: .seconds(5))
        hasSpoken5 = hasSpoken5 || client.ack.version == .v5
        let limit = limit(client)
        defer { limit.cancel() }
        let codes: [UInt8]
        await duty?.begin(isSharing: client.ack.canShare)
        if !client.ack.canShare { warn(client.ack) }
        if let duty, duty.isContested, duty.isReader {
            logger.info("\(duty.words) from now on")
        }
        do throws(MQTTError) {
            codes = isRetired ? []
                : try await client.subscribe(heard(subscriptions, by: client.ack))
        } catch {
            await client.close()
            throw error
        }
        guard codes.allSatisfy({ $0 < 0x80 }) else {
            await client.close()
            throw .brokerLogin("the broker refused a subscription", reasonCode: 0x87)
        }
        line.withLock { line in
            line.client = client
            line.connections += 1
        }
        return client
    }

    /// If the broker has no shared subscriptions, the authority with the reader duty uses plain
    /// subscriptions instead.
    private func heard(
        _ subscriptions: [Subscription], by ack: ConnectAck
    ) -> [Subscription] {
        guard !ack.canShare else { return subscriptions }
        let mine = subscriptions.filter { duty?.isReader ?? true || !Self.isShared($0) }
        return mine.map { Subscription(Self.unshared($0.filter), $0.qos) }
    }

    private func warn(_ ack: ConnectAck) {
        if ack.version == .v311 {
            logger.warning(
                """
                degraded: the broker speaks only MQTT 3.1.1; data has no sid, seq, ts and app, \
                no message expires, and only one of several authorities reads
                """)
        } else {
            logger.warning(
                "the broker has no shared subscriptions; only one of several authorities reads")
        }
    }

    private static func isShared(_ subscription: Subscription) -> Bool {
        subscription.filter.hasPrefix("$share/")
    }

    /// `$share/<group>/<filter>` without its group. Source: MQTT 5 §4.8.2.
    private static func unshared(_ filter: String) -> String {
        guard filter.hasPrefix("$share/") else { return filter }
        return String(filter.split(separator: "/", maxSplits: 2).last ?? "")
    }

    /// Takes the reader duty when it is free, and stops reading when the duty is lost.
    private func keepDuty(_ client: BrokerClient, _ subscriptions: [Subscription]) async {
        guard let duty, duty.isContested else { return }
        while !Task.isCancelled, !isRetired {
            await pause(ReaderDuty.rhythm)
            let change = await duty.look()
            guard change != .none, !isRetired else { continue }
            do throws(MQTTError) {
                if change == .gained {
                    logger.info("\(duty.words) from now on")
                    // This also repeats existing subscriptions, so retained messages arrive once
                    // more.
                    try await client.subscribe(heard(subscriptions, by: client.ack))
                } else {
                    logger.warning("another authority may read boards' messages from now on")
                    guard !client.ack.canShare else { continue }
                    try await client.unsubscribe(
                        subscriptions.filter(Self.isShared).map { Self.unshared($0.filter) })
                }
            } catch {
                // The connection has ended, and its subscriptions with it.
                return
            }
        }
    }

    /// Unsubscribes from boards' messages, so that the broker gives them to another authority.
    /// Publishing still works. Returns when the broker has confirmed it, or if there is no
    /// connection.
    package func retire(from subscriptions: [Subscription]) async {
        isRetired = true
        if let client {
            let limit = limit(client)
            let filters = heard(subscriptions, by: client.ack).map(\.filter)
                .filter { $0 != DynamicSecurity.responseTopic }
            do throws(MQTTError) { try await client.unsubscribe(filters) } catch {}
            limit.cancel()
        }
        await duty?.release(forGood: true)
    }

    private func serve(
        _ client: BrokerClient, _ subscriptions: [Subscription],
        _ onUp: @escaping @Sendable () async -> Void,
        _ onMessage: @escaping @Sendable (IncomingMessage) async -> Void
    ) async {
        logger.info("connected to the broker")
        await withTaskGroup { group in
            group.addTask(operation: onUp)
            group.addTask { await self.watch(client) }
            group.addTask { await self.keepDuty(client, subscriptions) }
            await read(client, onMessage)
            group.cancelAll()
        }
    }

    private nonisolated func read(
        _ client: BrokerClient, _ onMessage: @Sendable (IncomingMessage) async -> Void
    ) async {
        for await event in client.events {
            switch event {
            case .message(let message) where message.topic == DynamicSecurity.responseTopic:
                await answer(message.payload)
            case .message(let message):
                await onMessage(message)
            case .batch: break
            case .disconnected(let error):
                logger.warning("the broker: \(error)")
            }
        }
    }

    private func drop() {
        line.withLock { $0.client = nil }
        let lost = waiting
        waiting = [:]
        for continuation in lost.values { continuation.resume() }
    }

    package var isUp: Bool { client != nil }

    /// How many connections there were so far. Another number says that the broker may have lost
    /// what it retained.
    package nonisolated var connections: Int { line.withLock { $0.connections } }

    /// Publishes and waits for the broker's confirmation, for `answerLimit` at most. A refusal is
    /// an error too. A broker that answers pings but confirms nothing would block a line for good,
    /// so its connection is closed and made again.
    package nonisolated func publish(_ message: OutgoingMessage) async throws(AuthorityError) {
        guard let (client, number) = line.withLock({ $0.begin() }) else { throw Self.down }
        defer { line.withLock { $0.unconfirmed[number] = nil } }
        let code: UInt8
        do throws(MQTTError) {
            code = try await client.publish(message)
        } catch {
            throw .failed(layer: error.layer?.rawValue ?? "MQTT", text: "\(error)")
        }
        guard code < 0x80 else {
            throw .failed(layer: "MQTT", text: "the broker refused a message (\(code))")
        }
    }

    /// Closes the client when a confirmation is overdue. One watcher for all messages costs less
    /// than a timer for each.
    private func watch(_ client: BrokerClient) async {
        while !Task.isCancelled {
            await pause(answerLimit / 8)
            let due = ContinuousClock.now - answerLimit
            let isOverdue = line.withLock { line in
                line.unconfirmed.values.contains { $0 < due }
            }
            guard isOverdue else { continue }
            await client.close()
            return
        }
    }

    /// Closes the client after `answerLimit`. Then all calls that wait for its answers fail.
    private func limit(_ client: BrokerClient) -> Task<Void, Never> {
        Task { [answerLimit] in
            await pause(answerLimit)
            if !Task.isCancelled { await client.close() }
        }
    }

    private static let down = AuthorityError.failed(
        layer: "MQTT", text: "there is no connection to the boards' broker")

    // The plugin's commands.

    /// Sends commands in one message, which the plugin runs in order, and waits for all answers.
    package func control(
        _ commands: [DynamicSecurity.Command]
    ) async throws(AuthorityError) -> [DynamicSecurity.Response] {
        guard client != nil else { throw Self.down }
        let numbered = commands.map { command in
            lastCorrelation += 1
            return (correlation: "\(login.clientID) \(lastCorrelation)", command: command)
        }
        let payload = DynamicSecurity.payload(
            numbered.map { $0.command.json(correlation: $0.correlation) })
        let message = OutgoingMessage(topic: DynamicSecurity.requestTopic, payload: payload)
        let last = numbered.last?.correlation ?? ""
        expected[last] = numbered.map(\.correlation)
        defer {
            expected[last] = nil
            arrived[last] = nil
        }
        try await publish(message)
        if arrived[last] == nil { await arrival(of: last) }
        guard let answers = arrived[last], answers.count == commands.count else {
            throw .failed(layer: "MQTT", text: "the broker's access plugin does not answer")
        }
        return answers
    }

    /// Waits until the answers arrive, the connection ends or the time limit passes.
    private func arrival(of correlation: String) async {
        let limit = Task {
            await pause(answerLimit)
            wake(correlation)
        }
        await withCheckedContinuation { waiting[correlation] = $0 }
        limit.cancel()
    }

    /// The answers to one message arrive in one message. They are stored under the correlation of
    /// the last command.
    private func answer(_ payload: [UInt8]) {
        let responses = DynamicSecurity.responses(in: payload)
        for correlation in responses.keys {
            guard let all = expected[correlation] else { continue }
            arrived[correlation] = all.compactMap { responses[$0] }
            wake(correlation)
        }
    }

    private func wake(_ correlation: String) {
        waiting.removeValue(forKey: correlation)?.resume()
    }
}

extension ConnectAck {
    /// Whether several authorities may read as one group.
    var canShare: Bool { version == .v5 && sharedSubscriptionsAvailable }
}
