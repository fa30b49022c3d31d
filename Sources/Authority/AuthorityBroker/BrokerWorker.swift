package import AuthorityCore
import AuthorityStore
package import Logging
import MQTT
package import Sessions
import Synchronization
package import Wire

/// Does the store's jobs at the broker. A line is the queue of jobs for one board or one reader;
/// its jobs run in order.
///
/// The jobs are read from the store, and deleted there after the broker has confirmed them. If
/// several authorities share a store, one of them holds the lock for a line while it does that
/// line's jobs.
package final class BrokerWorker: JobWorker {
    package let consumerAccess: ConsumerAccess?
    /// Nil if the broker does not tell.
    private let connected: ConnectedConsumers?
    private let link: BrokerLink
    private let authority: Authority
    private let root: TopicRoot
    private let access: Access
    private let logger: Logger
    private let lines = JobQueueLocks()
    private let deliveries = SharedDeliveries(patience: .seconds(1))
    private let holds: SharedJobLocks
    /// Clears the data that a board retained, after its login was removed. Nil if live data is off.
    private let clearData: (@Sendable (_ board: InstallationID) -> Void)?
    /// Nil if sensors are not announced to Home Assistant.
    private let sensors: SensorWithdrawal?
    /// Nil unless connections are cut by taking over their client id.
    private let proof: TakeoverProof?
    /// Jobs that ran, but without proof that the broker cut the connection.
    private let unproven = Mutex<Set<Int64>>([])
    private let woken: AsyncStream<String>
    private let wakes: AsyncStream<String>.Continuation

    /// How the broker learns which clients it may let in.
    package enum Access: Sendable {
        /// From another system.
        case none
        /// By commands to mosquitto's plugin.
        case commanded
        /// The broker asks the authority. A connection that it let in is cut by taking over its
        /// client id.
        case asked(ClientTakeover)
    }

    package init(
        link: BrokerLink, root: TopicRoot, access: Access, consumerAccess: ConsumerAccess?,
        logger: Logger, authority: Authority, holds: SharedJobLocks = SharedJobLocks(),
        connected: ConnectedConsumers? = nil,
        clearData: (@Sendable (_ board: InstallationID) -> Void)? = nil,
        sensors: SensorWithdrawal? = nil
    ) {
        (self.holds, self.clearData) = (holds, clearData)
        (self.connected, self.sensors) = (connected, sensors)
        self.link = link
        self.root = root
        self.access = access
        proof = if case .asked(let takeover) = access { TakeoverProof(takeover) } else { nil }
        self.consumerAccess = consumerAccess
        self.logger = logger
        self.authority = authority
        (woken, wakes) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingNewest(65_536))
    }

    package func wake(_ line: String) { wakes.yield(line) }

    package func isConnected(_ clientID: String) -> Bool? { connected?.contains(clientID) }

    /// Does the jobs of each woken line until its task is cancelled. Failed jobs are tried again
    /// at the next connect and at the next sweep, every 10 s.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await line in woken {
                if running == 32 { await group.next() } else { running += 1 }
                group.addTask { await self.attempt(line) }
            }
        }
    }

    private func attempt(_ line: String) async {
        guard await link.isUp else { return }
        do throws(AuthorityError) {
            try await settle(line, patience: SharedJobLocks.wakePatience)
        } catch {
            // Log at debug level if another authority holds the lock, or if this service stops.
            // Another authority does the job then.
            logger.log(
                level: SharedJobLocks.isBusy(error) || Task.isCancelled ? .debug : .warning,
                "a job waits: \(error.words)", metadata: ["line": "\(line)"])
        }
    }

    package func settle(_ line: String) async throws(AuthorityError) {
        try await settle(line, patience: SharedJobLocks.patience)
    }

    package func deliver(_ line: String) async -> Bool {
        await deliveries.deliver(line) {
            do throws(AuthorityError) {
                try await self.settle(line)
                return true
            } catch {
                self.wake(line)
                return false
            }
        }
    }

    private func settle(
        _ line: String, patience: Duration
    ) async throws(AuthorityError) {
        await lines.enter(line)
        do throws(AuthorityError) {
            try await settleAlone(line, patience)
        } catch {
            await lines.leave(line)
            throw error
        }
        await lines.leave(line)
    }

    /// Returns at once if another authority has left no jobs.
    private func settleAlone(
        _ line: String, _ patience: Duration
    ) async throws(AuthorityError) {
        let end = ContinuousClock.now + patience
        var pauses = BackOff()
        while true {
            if let hold = try await holds.take(line) {
                do throws(AuthorityError) {
                    try await work(line, under: hold)
                } catch {
                    await hold.release()
                    throw error
                }
                return await hold.release()
            }
            if try await authority.jobs(in: line).isEmpty { return }
            guard ContinuousClock.now < end, !Task.isCancelled else { throw SharedJobLocks.busy }
            await pause(pauses.next())
        }
    }

    private func work(
        _ line: String, under hold: any StoreHold
    ) async throws(AuthorityError) {
        var left: Set<Int64> = []
        while true {
            let jobs = try await authority.jobs(in: line).filter { !left.contains($0.number) }
            if jobs.isEmpty { return }
            for job in jobs {
                guard hold.isHeld else { throw SharedJobLocks.lost }
                // Each job reads the desired state when it runs. So the job that stays for a retry
                // also covers the later ones.
                let isDone = try await perform(job)
                if isDone || !left.isEmpty {
                    try await authority.done(job)
                    unproven.withLock { _ = $0.remove(job.number) }
                } else {
                    left.insert(job.number)
                }
            }
        }
    }

    /// Whether no line is being worked on.
    package var isIdle: Bool { get async { await lines.isEmpty } }

    /// False: the job stays for a retry, and later jobs of its line do not wait for it.
    private func perform(_ numbered: NumberedJob) async throws(AuthorityError) -> Bool {
        let number = numbered.number
        if unproven.withLock({ $0.contains(number) }) {
            // While takeovers do not work, do not cut the connection a second time.
            guard await proof?.holds(since: .now - .seconds(5)) != false else { return false }
            unproven.withLock { _ = $0.remove(number) }
        }
        let began = ContinuousClock.now
        guard try await perform(numbered.job), let proof else { return true }
        if await proof.holds(since: began) { return true }
        unproven.withLock { _ = $0.insert(number) }
        logger.warning(
            "the broker may let two clients use one id; ending the old connection is tried again",
            metadata: ["line": "\(numbered.job.line)"])
        return false
    }

    /// True if the job took over a client id, so that a proof is needed.
    private func perform(_ job: BrokerJob) async throws(AuthorityError) -> Bool {
        switch job {
        case .login(let board, let password):
            return try await login(board, password: password)
        case .inbox(let board):
            try await inbox(board, try await authority.desiredState(for: board))
        case .say(let board, let payload, let until):
            guard let expiry = authority.secondsLeft(until) else { return false }
            try await link.publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: root), payload: payload,
                properties: MessageProperties(messageExpiry: expiry)))
        case .commands(let board):
            try await send(authority.commandsToSend(to: board), to: board)
        case .reader(let reader, let mayDoLess):
            return try await update(reader, mayDoLess: mayDoLess)
        }
        return false
    }

    private func send(
        _ commands: [OutgoingCommand], to board: InstallationID
    ) async throws(AuthorityError) {
        for command in commands {
            guard let expiry = authority.secondsLeft(command.until) else { continue }
            try await link.publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: root), payload: command.payload,
                properties: MessageProperties(messageExpiry: expiry)))
        }
        try await authority.note(sent: Set(commands.map(\.id)), to: board)
    }

    private func login(
        _ board: InstallationID, password: Bool
    ) async throws(AuthorityError) -> Bool {
        if case .none = access { return false }
        let desired = try await authority.desiredState(for: board)
        if case .asked(let takeover) = access {
            // Brokers remember an answer for as long as a connection lasts. The cut makes the board
            // connect again, and the broker asks again what the board may do.
            let client = BrokerAccount.clientID(of: board.description)
            try await takeover.end(client, isFinal: desired.login == nil)
            if desired.login == nil, !desired.isPrepared {
                try await sayDown(board, desired)
                clearData?(board)
            }
            return true
        }
        guard let login = desired.login else {
            try await remove(board, desired)
            if !desired.isPrepared { clearData?(board) }
            return false
        }
        try await install(
            BrokerAccount(board: board, login: login, root: root), password: password)
        return false
    }

    private func install(
        _ account: BrokerAccount, password: Bool
    ) async throws(AuthorityError) {
        let answers = try await link.control(account.creation)
        try Self.check(answers, tolerated: [
            DynamicSecurity.roleExists, DynamicSecurity.clientExists,
        ])
        guard answers.last?.error == DynamicSecurity.clientExists else { return }
        let found = try await link.control([account.inquiry])
        try Self.check(found, tolerated: [])
        var repairs: [DynamicSecurity.Command] = []
        if !account.isBound(in: found.first) { repairs.append(account.binding) }
        if password { repairs.append(account.passwordChange) }
        guard !repairs.isEmpty else { return }
        try Self.check(try await link.control(repairs), tolerated: [])
    }

    /// Deletes the client first, which cuts its connection without its last will. So the status
    /// `down` is published here. It is also published if an earlier attempt deleted the client and
    /// failed before this.
    private func remove(
        _ board: InstallationID, _ desired: DesiredBoard
    ) async throws(AuthorityError) {
        let answers = try await link.control(BrokerAccount.removal(
            username: board.description, role: BrokerRole.boardName(board)))
        try Self.check(
            answers,
            tolerated: [DynamicSecurity.clientMissing] + DynamicSecurity.roleMissing)
        guard !desired.isPrepared else { return }
        let isGone = answers.first?.error != nil
        if isGone, let status = desired.status, !status.up { return }
        try await sayDown(board, desired)
    }

    private func sayDown(
        _ board: InstallationID, _ desired: DesiredBoard
    ) async throws(AuthorityError) {
        let down = BoardStatus(
            up: false, available: false, version: desired.status?.version ?? "",
            since: systemClock(), gaps: desired.status?.gaps ?? .none)
        try await link.publish(OutgoingMessage(
            topic: ContractTopic.status(board).text(under: root), payload: down.payload,
            retain: true))
    }

    private func update(
        _ reader: BrokerReader, mayDoLess: Bool
    ) async throws(AuthorityError) -> Bool {
        if case .none = access { return false }
        if mayDoLess { await withdrawSensors() }
        let desired = try await authority.desiredState(for: reader)
        let name = reader.username
        if case .asked(let takeover) = access {
            // The broker does not ask again about an existing subscription, so the client has to
            // subscribe again.
            guard desired == nil || mayDoLess else { return false }
            try await takeover.end(BrokerAccount.clientID(of: name), isFinal: desired == nil)
            return true
        }
        guard let desired else {
            try Self.check(
                try await link.control(BrokerAccount.removal(username: name, role: name)),
                tolerated: [DynamicSecurity.clientMissing] + DynamicSecurity.roleMissing)
            return false
        }
        try await install(
            BrokerAccount(reader: desired, root: root, checksDeliveries: true), password: false)
        return false
    }

    /// Removes the sensors of released boards while their readers still receive that. Otherwise
    /// Home Assistant would show them until its restart. If this fails, they are removed later.
    private func withdrawSensors() async {
        do throws(AuthorityError) {
            try await sensors?.run(released: true)
        } catch {
            logger.debug("sensors of a released board are removed later: \(error.words)")
        }
    }

    private func inbox(
        _ board: InstallationID, _ desired: DesiredBoard
    ) async throws(AuthorityError) {
        let retained = desired.retained.flatMap { retained in
            authority.secondsLeft(retained.until).map { (retained.payload, $0) }
        }
        try await link.publish(OutgoingMessage(
            topic: ContractTopic.inbox(board).text(under: root), payload: retained?.0 ?? [],
            retain: true, properties: MessageProperties(messageExpiry: retained?.1)))
    }

    /// Sends a board that has just connected the message that its inbox retains. In some broker
    /// clusters each node keeps retained messages for itself. The board takes the message, or has
    /// it already.
    package func greet(_ board: InstallationID) async {
        if case .commanded = access { return }
        do throws(AuthorityError) {
            guard try await authority.retained(on: board) != nil else { return }
            // Earlier jobs come first.
            try await settle(board.description)
            guard let retained = try await authority.retained(on: board),
                let expiry = authority.secondsLeft(retained.until)
            else { return }
            try await link.publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: root), payload: retained.payload,
                properties: MessageProperties(messageExpiry: expiry)))
        } catch {
            logger.log(
                level: Task.isCancelled ? .debug : .warning,
                "a retained message of a board's inbox was not sent again: \(error.words)",
                metadata: ["board": "\(board)"])
        }
    }

    private static func check(
        _ answers: [DynamicSecurity.Response], tolerated: [String]
    ) throws(AuthorityError) {
        for error in answers.compactMap(\.error) where !tolerated.contains(error) {
            throw .failed(layer: "broker access", text: error)
        }
    }
}

extension Authority {
    /// A message expiry in seconds; nil if the time has passed.
    func secondsLeft(_ until: Timestamp) -> UInt32? {
        let left = (until - systemClock()).components.seconds
        return left > 0 ? UInt32(clamping: left) : nil
    }
}
