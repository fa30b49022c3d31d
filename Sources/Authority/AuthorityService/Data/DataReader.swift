import AuthorityBroker
import AuthorityCore
import AuthorityStore
import LinuxIO
import Logging
import MQTT
import Sessions
import Wire

/// Reads the boards' data from the broker into the store of records, over a connection of its own,
/// so that no flood delays a board's request. The broker gets its acknowledgement after the
/// commit, so a process that is killed loses nothing, and what comes twice is stored once.
///
/// One durable session at the broker serves all authorities of a store. One of them reads at a
/// time: the one that has the lock `data reader`. If it dies, another gets the lock, and by the
/// same client id the broker's queue with everything that was not acknowledged.
///
/// A shared subscription would lose data. Mosquitto deals messages to all members in turn, also to
/// those that are away, and a member that never comes back takes its share with it. A member
/// without a durable session loses what it had not acknowledged.
struct DataReader: Sendable {
    /// Of a shared store. With SQLite there is no other authority.
    private static let lock = "data reader"
    /// How long the broker queues data while no authority is there.
    static let sessionExpiry: UInt32 = 86_400
    /// Of the messages that may be in flight, half are stored while the broker sends the others.
    static let batch = BatchLimit(messages: 1024, bytes: 1 << 20)
    private static let receiveMaximum: UInt16 = 2048
    private static let longestWait = Duration.seconds(60)

    let login: BrokerLink.BrokerLogins
    let root: TopicRoot
    /// Makes the broker admit this client, if the authority manages its accounts. The argument says
    /// whether the broker refused the password.
    let admit: (@Sendable (_ wasRefused: Bool) async throws(AuthorityError) -> Void)?
    let store: any ServiceStore
    let data: any DataStore
    let bounds: DataBounds
    let authority: Authority
    let tally: DataTally
    /// Whether the clock is right. A wrong one would make records look old, or from the future.
    let mayStore: @Sendable () -> Bool
    let logger: Logger

    private var filter: String { "\(root)/+/data/#" }

    /// Reads until its task is cancelled.
    func run() async {
        var state = ReaderState()
        while !Task.isCancelled {
            await turn(&state)
            await pause(state.wait)
        }
    }

    /// What one turn leaves for the next.
    private struct ReaderState {
        var wasRefused = false
        var hasSpoken5 = false
        var wait = Duration.milliseconds(100)
        var failures = 0
        var connectedAt: ContinuousClock.Instant?
        var lastWarning: ContinuousClock.Instant?

        /// The wait doubles from 100 ms to a minute.
        mutating func fail() {
            wait = min(.milliseconds(100) * (1 << min(failures, 10)), DataReader.longestWait)
            failures += 1
        }

        mutating func succeed() { (failures, wait) = (0, .milliseconds(100)) }
    }

    private func turn(_ state: inout ReaderState) async {
        do throws(AuthorityError) {
            guard mayStore() else {
                throw .failed(layer: "clock", text: "the clock is wrong")
            }
            let isMine = try await store.holding(Self.lock) { hold throws(AuthorityError) in
                try await read(&state, while: hold)
            }
            guard !isMine else { return }
            // Another authority reads.
            tally.wait(nil)
            state.wait = .seconds(1)
        } catch {
            // A connection that lasted is no failure in a row.
            if let since = state.connectedAt, .now - since > Self.longestWait { state.succeed() }
            state.connectedAt = nil
            state.fail()
            complain(error, &state)
        }
    }

    /// Logs at once and then once a minute. A broker that is just starting is no reason for a
    /// warning.
    private func complain(_ error: AuthorityError, _ state: inout ReaderState) {
        guard !Task.isCancelled else { return }
        if state.failures > 3 { tally.wait(error.words) }
        let isDue = state.lastWarning.map { .now - $0 > .seconds(60) } ?? (state.failures > 3)
        logger.log(
            level: isDue ? .warning : .debug,
            "what boards send waits at the broker: \(error.words)")
        if isDue { state.lastWarning = .now }
    }

    private func read(
        _ state: inout ReaderState, while hold: any StoreHold
    ) async throws(AuthorityError) {
        if let admit { try await admit(state.wasRefused) }
        let client: BrokerClient
        do throws(MQTTError) {
            client = try await BrokerClient.connect(
                options, hasSpoken5: state.hasSpoken5, timeout: .seconds(5), batches: Self.batch)
        } catch {
            if case .brokerLogin = error { state.wasRefused = true }
            throw Self.failed(error)
        }
        (state.wasRefused, state.connectedAt) = (false, .now)
        state.hasSpoken5 = state.hasSpoken5 || client.ack.version == .v5
        // What the session still has comes before the answer to SUBSCRIBE, and must be stored.
        async let subscribing = subscribe(client)
        do throws(AuthorityError) {
            try await serve(client, &state, while: hold)
        } catch {
            await client.close()
            // The refusal of the subscription is the reason for the end of the connection.
            try await subscribing.get()
            throw error
        }
        await client.close()
        try await subscribing.get()
    }

    private var options: ConnectOptions {
        ConnectOptions(
            uri: login.uri, clientID: login.clientID, cleanStart: false,
            sessionExpiry: Self.sessionExpiry, keepAlive: 60,
            receiveMaximum: Self.receiveMaximum, maximumPacketSize: 2 << 20,
            username: login.username, password: login.password, tls: login.tls)
    }

    /// Closes the client if the broker refuses.
    private func subscribe(_ client: BrokerClient) async -> Result<Void, AuthorityError> {
        do throws(MQTTError) {
            let codes = try await client.subscribe(
                [Subscription(filter)], sendRetained: false, marksRetained: true)
            guard codes.allSatisfy({ $0 < 0x80 }) else {
                throw .brokerLogin("the broker refused the subscription to data", reasonCode: 0x87)
            }
            tally.wait(nil)
            return .success(())
        } catch {
            await client.close()
            return .failure(Self.failed(error))
        }
    }

    private func serve(
        _ client: BrokerClient, _ state: inout ReaderState, while hold: any StoreHold
    ) async throws(AuthorityError) {
        logger.debug("what boards send is stored from now on")
        for await event in client.events {
            switch event {
            case .batch(let messages):
                guard hold.isHeld else { return }
                guard mayStore() else {
                    throw .failed(layer: "clock", text: "the clock is wrong")
                }
                try await keep(messages)
                client.acknowledge()
                state.succeed()
                tally.wait(nil)
            case .message: break
            case .disconnected(let error):
                if Task.isCancelled { return }
                throw Self.failed(error)
            }
        }
    }

    private static func failed(_ error: MQTTError) -> AuthorityError {
        .failed(layer: error.layer?.rawValue ?? "MQTT", text: "\(error)")
    }

    /// Stores what can be kept. When it returns, all of it may be acknowledged.
    func keep(_ messages: [IncomingMessage]) async throws(AuthorityError) {
        var unkept: [UnkeptReason: Int] = [:]
        var found: [(record: DataRecord, origin: RecordOrigin)] = []
        found.reserveCapacity(messages.count)
        let now = systemClock()
        for message in messages {
            let reading = RecordReading(
                DataDelivery(message), under: root, keep: bounds.keep, now: now)
            switch reading {
            case .record(let record, let session):
                found.append((record, RecordOrigin(board: record.board, session: session)))
            case .unkept(let reason): unkept[reason, default: 0] += 1
            }
        }
        let owners = try await authority.recordOwners(of: Set(found.map(\.origin)))
        let records = found.compactMap { record, origin in
            owners[origin]?.owned(record)
        }
        let count = records.isEmpty ? KeepCount() : try await data.keep(records)
        let ownerless = found.count - records.count + count.released
        if ownerless > 0 { unkept[.ownerless, default: 0] += ownerless }
        if count.crowded > 0 { unkept[.crowded, default: 0] += count.crowded }
        tally.note(count)
        tally.note(unkept)
    }
}

extension DataDelivery {
    fileprivate init(_ message: IncomingMessage) {
        self.init(
            topic: message.topic, payload: message.payload, isRetained: message.retain,
            properties: message.properties.userProperties.map { ($0.name, $0.value) })
    }
}
