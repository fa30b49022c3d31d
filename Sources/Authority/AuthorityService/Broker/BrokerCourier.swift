import AuthorityCore
import AuthorityStore
import Logging
import MQTT
import Sessions
import Synchronization
import Wire

/// Does the store's chores at the broker, those of one line in their order.
///
/// It holds no state but who is at which line; what is to be done is read from the store, and
/// struck off there once the broker has confirmed it. Of several authorities on one store one
/// is at a line, for as long as it holds it there.
final class BrokerCourier: Courier {
    let consumerAccess: ConsumerAccess?
    private let link: BrokerLink
    private let desk: Authority
    private let root: TopicRoot
    private let access: Access
    private let logger: Logger
    private let lines = LineGate()
    private let holds: LineHolds
    /// Nil where nobody reads data.
    private let tap: DataTap?
    /// Nil where nothing is cut by taking its place.
    private let proof: TakeoverProof?
    /// What was done, but not so that the broker is sure to have cut the connection.
    private let unproven = Mutex<Set<Int64>>([])
    private let nudged: AsyncStream<String>
    private let nudges: AsyncStream<String>.Continuation

    /// How the broker hears whom it may let in.
    enum Access: Sendable {
        /// From somebody else.
        case none
        /// By the commands of mosquitto's plugin.
        case commanded
        /// It asks, and what it let in is cut off by taking its place.
        case asked(ClientTakeover)
    }

    init(
        link: BrokerLink, root: TopicRoot, access: Access, consumerAccess: ConsumerAccess?,
        logger: Logger, desk: Authority, holds: LineHolds = LineHolds(), tap: DataTap? = nil
    ) {
        (self.holds, self.tap) = (holds, tap)
        self.link = link
        self.root = root
        self.access = access
        proof = if case .asked(let takeover) = access { TakeoverProof(takeover) } else { nil }
        self.consumerAccess = consumerAccess
        self.logger = logger
        self.desk = desk
        (nudged, nudges) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingNewest(65_536))
    }

    func nudge(_ line: String) { nudges.yield(line) }

    /// Settles what it is nudged about, until its task is cancelled. What fails is tried
    /// again at the next connect and every half minute.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await line in nudged {
                if running == 32 { await group.next() } else { running += 1 }
                group.addTask { await self.attempt(line) }
            }
        }
    }

    private func attempt(_ line: String) async {
        guard await link.isUp else { return }
        do throws(AuthorityError) {
            try await settle(line, patience: LineHolds.nudgePatience)
        } catch {
            // What another is at is no trouble, and what is cut short at our end another's.
            logger.log(
                level: LineHolds.isBusy(error) || Task.isCancelled ? .debug : .warning,
                "a chore waits: \(error.words)", metadata: ["line": "\(line)"])
        }
    }

    func settle(_ line: String) async throws(AuthorityError) {
        try await settle(line, patience: LineHolds.patience)
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

    /// Returns at once where another authority has left nothing to do.
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
            if try await desk.chores(in: line).isEmpty { return }
            guard ContinuousClock.now < end, !Task.isCancelled else { throw LineHolds.busy }
            await pause(pauses.next())
        }
    }

    private func work(
        _ line: String, under hold: any StoreHold
    ) async throws(AuthorityError) {
        var left: Set<Int64> = []
        while true {
            let chores = try await desk.chores(in: line).filter { !left.contains($0.number) }
            if chores.isEmpty { return }
            for chore in chores {
                guard hold.isHeld else { throw LineHolds.lost }
                // One that is left does for those after it: what is to be is asked anew.
                let isDone = try await perform(chore)
                if isDone || !left.isEmpty {
                    try await desk.done(chore)
                    unproven.withLock { _ = $0.remove(chore.number) }
                } else {
                    left.insert(chore.number)
                }
            }
        }
    }

    /// Whether no line is worked at.
    var isIdle: Bool { get async { await lines.isEmpty } }

    /// False leaves it to be tried again, and nothing of its line waits for it.
    private func perform(_ numbered: NumberedChore) async throws(AuthorityError) -> Bool {
        let number = numbered.number
        if unproven.withLock({ $0.contains(number) }) {
            // Until it may be of use, nobody is cut off a second time.
            guard await proof?.holds(since: .now - .seconds(5)) != false else { return false }
            unproven.withLock { _ = $0.remove(number) }
        }
        let began = ContinuousClock.now
        guard try await perform(numbered.chore), let proof else { return true }
        if await proof.holds(since: began) { return true }
        unproven.withLock { _ = $0.insert(number) }
        logger.warning(
            "the broker may let two clients use one id; what was to be cut off is tried again",
            metadata: ["line": "\(numbered.chore.line)"])
        return false
    }

    /// Whether it was done by taking a client's place.
    private func perform(_ chore: Chore) async throws(AuthorityError) -> Bool {
        switch chore {
        case .login(let board, let password):
            return try await login(board, password: password)
        case .inbox(let board):
            try await inbox(board, try await desk.wish(for: board))
        case .say(let board, let payload, let until):
            guard let expiry = desk.secondsLeft(until) else { return false }
            try await link.publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: root), payload: payload,
                properties: MessageProperties(messageExpiry: expiry)))
        case .person(let session, let mayDoLess):
            return try await person(session, mayDoLess: mayDoLess)
        }
        return false
    }

    private func login(
        _ board: InstallationID, password: Bool
    ) async throws(AuthorityError) -> Bool {
        if case .none = access { return false }
        let wish = try await desk.wish(for: board)
        if case .asked(let takeover) = access {
            // What it may do is judged anew once it is back: brokers remember an answer for as
            // long as a connection lasts.
            let client = BrokerAccount.clientID(of: board.description)
            try await takeover.end(client, isFinal: wish.login == nil)
            if wish.login == nil {
                try await sayDown(board, wish)
                tap?.clear(after: board)
            }
            return true
        }
        guard let login = wish.login else {
            try await remove(board, wish)
            tap?.clear(after: board)
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

    /// The client goes first, which cuts its connection without its last will; so `down` is
    /// said here, and also where the client went in an attempt that ended before it said so.
    private func remove(
        _ board: InstallationID, _ wish: BoardWish
    ) async throws(AuthorityError) {
        let answers = try await link.control(BrokerAccount.removal(
            username: board.description, role: BrokerRole.boardName(board)))
        try Self.check(
            answers,
            tolerated: [DynamicSecurity.clientMissing] + DynamicSecurity.roleMissing)
        let isGone = answers.first?.error != nil
        if isGone, let status = wish.status, !status.up { return }
        try await sayDown(board, wish)
    }

    private func sayDown(
        _ board: InstallationID, _ wish: BoardWish
    ) async throws(AuthorityError) {
        let down = BoardStatus(
            up: false, available: false, version: wish.status?.version ?? "",
            since: systemClock(), gaps: wish.status?.gaps ?? .none)
        try await link.publish(OutgoingMessage(
            topic: ContractTopic.status(board).text(under: root), payload: down.payload,
            retain: true))
    }

    private func person(
        _ session: ObjectID, mayDoLess: Bool
    ) async throws(AuthorityError) -> Bool {
        if case .none = access { return false }
        let wish = try await desk.wish(forPerson: session)
        let name = PersonLogin.username(of: session)
        if case .asked(let takeover) = access {
            // A subscription that it has is asked about no more, so it has to make it anew.
            guard wish == nil || mayDoLess else { return false }
            try await takeover.end(BrokerAccount.clientID(of: name), isFinal: wish == nil)
            return true
        }
        guard let wish else {
            try Self.check(
                try await link.control(BrokerAccount.removal(username: name, role: name)),
                tolerated: [DynamicSecurity.clientMissing] + DynamicSecurity.roleMissing)
            return false
        }
        try await install(BrokerAccount(person: wish, root: root), password: false)
        return false
    }

    private func inbox(
        _ board: InstallationID, _ wish: BoardWish
    ) async throws(AuthorityError) {
        let retained = wish.retained.flatMap { retained in
            desk.secondsLeft(retained.until).map { (retained.payload, $0) }
        }
        try await link.publish(OutgoingMessage(
            topic: ContractTopic.inbox(board).text(under: root), payload: retained?.0 ?? [],
            retain: true, properties: MessageProperties(messageExpiry: retained?.1)))
    }

    /// Repeats to a board that has just come what its inbox retains, for nodes of a broker that
    /// keep what is retained each for itself. Such a board takes it or has it already.
    func greet(_ board: InstallationID) async {
        if case .commanded = access { return }
        do throws(AuthorityError) {
            guard try await desk.retained(on: board) != nil else { return }
            // Nothing overtakes what is still to be done before it.
            try await settle(board.description)
            guard let retained = try await desk.retained(on: board),
                let expiry = desk.secondsLeft(retained.until)
            else { return }
            try await link.publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: root), payload: retained.payload,
                properties: MessageProperties(messageExpiry: expiry)))
        } catch {
            logger.log(
                level: Task.isCancelled ? .debug : .warning,
                "what a board's inbox retains was not repeated: \(error.words)",
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
    /// A message expiry; nil if the time has passed.
    func secondsLeft(_ until: Timestamp) -> UInt32? {
        let left = (until - systemClock()).components.seconds
        return left > 0 ? UInt32(clamping: left) : nil
    }
}

extension AuthorityError {
    /// For the log: it names no secret.
    var words: String {
        switch self {
        case .refused(let refusal): "\(refusal.code) \(refusal.text)"
        case .failed(let layer, let text): "\(layer): \(text)"
        }
    }
}
