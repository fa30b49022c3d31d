import AuthorityCore
import Logging
import Mosquitto
import Sessions
import Wire

/// Does the store's chores at the broker, those of one line in their order.
///
/// It holds no state but who is at which line; what is to be done is read from the store, and
/// struck off there once the broker has confirmed it.
final class BrokerCourier: Courier {
    let consumerAccess: ConsumerAccess?
    private let link: BrokerLink
    private let desk: Authority
    private let root: TopicRoot
    private let access: Access
    private let logger: Logger
    private let lines = LineGate()
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
        logger: Logger, desk: Authority
    ) {
        self.link = link
        self.root = root
        self.access = access
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
            try await settle(line)
        } catch {
            logger.warning("a chore waits: \(error.words)", metadata: ["line": "\(line)"])
        }
    }

    func settle(_ line: String) async throws(AuthorityError) {
        await lines.enter(line)
        do throws(AuthorityError) {
            while true {
                let chores = try await desk.chores(in: line)
                if chores.isEmpty { break }
                for chore in chores {
                    try await perform(chore.chore)
                    try await desk.done(chore)
                }
            }
        } catch {
            await lines.leave(line)
            throw error
        }
        await lines.leave(line)
    }

    private func perform(_ chore: Chore) async throws(AuthorityError) {
        switch chore {
        case .login(let board, let password):
            try await login(board, password: password)
        case .inbox(let board):
            try await inbox(board, try await desk.wish(for: board))
        case .say(let board, let payload, let until):
            guard let expiry = desk.secondsLeft(until) else { return }
            try await link.publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: root), payload: payload,
                properties: MessageProperties(messageExpiry: expiry)))
        case .person(let session, let mayDoLess):
            try await person(session, mayDoLess: mayDoLess)
        }
    }

    private func login(
        _ board: InstallationID, password: Bool
    ) async throws(AuthorityError) {
        if case .none = access { return }
        let wish = try await desk.wish(for: board)
        if case .asked(let takeover) = access {
            // What it may do is judged anew once it is back: brokers remember an answer for as
            // long as a connection lasts.
            let client = BrokerAccount.clientID(of: board.description)
            try await takeover.end(client, isFinal: wish.login == nil)
            if wish.login == nil { try await sayDown(board, wish) }
            return
        }
        guard let login = wish.login else {
            try await remove(board, wish)
            return
        }
        try await install(
            BrokerAccount(board: board, login: login, root: root), password: password)
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
    ) async throws(AuthorityError) {
        if case .none = access { return }
        let wish = try await desk.wish(forPerson: session)
        let name = PersonLogin.username(of: session)
        if case .asked(let takeover) = access {
            // A subscription that it has is asked about no more, so it has to make it anew.
            guard wish == nil || mayDoLess else { return }
            try await takeover.end(BrokerAccount.clientID(of: name), isFinal: wish == nil)
            return
        }
        guard let wish else {
            try Self.check(
                try await link.control(BrokerAccount.removal(username: name, role: name)),
                tolerated: [DynamicSecurity.clientMissing] + DynamicSecurity.roleMissing)
            return
        }
        try await install(BrokerAccount(person: wish, root: root), password: false)
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

/// Lets one at a time into each line, in the order of their coming.
actor LineGate {
    private var lines: [String: [CheckedContinuation<Void, Never>]] = [:]

    func enter(_ line: String) async {
        guard lines[line] != nil else {
            lines[line] = []
            return
        }
        await withCheckedContinuation { lines[line]?.append($0) }
    }

    func leave(_ line: String) {
        guard var queue = lines[line], !queue.isEmpty else {
            lines[line] = nil
            return
        }
        let next = queue.removeFirst()
        lines[line] = queue
        next.resume()
    }
}
