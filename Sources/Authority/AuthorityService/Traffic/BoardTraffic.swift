import AuthorityCore
import LinuxIO
import Logging
import MQTT
import Sessions
import Synchronization
import Wire

/// What boards send: handled in order for each board, side by side for different ones.
final class BoardTraffic: Sendable {
    private let authority: Authority
    private let courier: BrokerCourier
    private let clock: ClockGuard
    private let live: LiveBoards?
    private let duty: ReaderDuty?
    private let refusals: RefusalBook?
    private let logger: Logger
    private let lanes: [Lane]
    private let keys = DeviceKeyCache()
    private let shedding: LoadShedding
    private let publish: LoadShedding.Publishing
    /// What could not be opened, by reason, since the start.
    private let dropped = Mutex<[DropReason: Int]>([:])
    private let unheard = Mutex(0)
    private let ahead = Mutex(0)
    private let heard = Mutex<[BoardMessage.Kind: Int]>([:])
    private let meter = Mutex(TrafficMeter())
    /// So many requests may wait together for one commit.
    private static let laneCount = 256
    private static let laneLimit = 128

    private struct Lane: Sendable {
        let stream: AsyncStream<Item>
        let input: AsyncStream<Item>.Continuation
    }

    private struct Item: Sendable {
        let topic: ContractTopic
        let payload: [UInt8]
        /// What the broker has kept, not what was said just now.
        let isRetained: Bool
    }

    init(
        authority: Authority, link: BrokerLink, courier: BrokerCourier, clock: ClockGuard,
        live: LiveBoards? = nil, duty: ReaderDuty? = nil,
        publish: LoadShedding.Publishing? = nil, refusals: RefusalBook? = nil, logger: Logger
    ) {
        self.refusals = refusals
        self.duty = duty
        let atBroker: LoadShedding.Publishing = { message async throws(AuthorityError) in
            try await link.publish(message)
        }
        let publish = if let publish { publish } else { atBroker }
        self.publish = publish
        shedding = LoadShedding(authority: authority, publish: publish, logger: logger)
        self.live = live
        self.authority = authority
        self.courier = courier
        self.clock = clock
        self.logger = logger
        lanes = (0..<Self.laneCount).map { _ in
            let (stream, input) = AsyncStream.makeStream(
                of: Item.self, bufferingPolicy: .bufferingOldest(Self.laneLimit))
            return Lane(stream: stream, input: input)
        }
    }

    func take(_ message: IncomingMessage) {
        take(message.topic, message.payload, isRetained: message.retain)
    }

    /// Files a message under its board. A full lane drops it, and so does a board of which
    /// enough waits: the board asks again. Where too much waits already its board is told so
    /// instead.
    func take(_ text: String, _ payload: [UInt8], isRetained: Bool = false) {
        guard let topic = ContractTopic(text, under: authority.info.topicRoot) else { return }
        guard payload.count <= SealedEnvelope.limit else {
            count(.notSealed, topic.board)
            return
        }
        guard admits(topic) else { return }
        if case .outbox(let board) = topic, !shedding.admits(payload, of: board) { return }
        file(payload, topic, isRetained: isRetained)
    }

    private func file(_ payload: [UInt8], _ topic: ContractTopic, isRetained: Bool = false) {
        guard shedding.enter(topic.board) else { return }
        // Boards choose their ids; Swift seeds this for each process, so none chooses its lane.
        let lane = lanes[Int(UInt(bitPattern: topic.board.hashValue) % UInt(Self.laneCount))]
        let item = Item(topic: topic, payload: payload, isRetained: isRetained)
        guard case .enqueued = lane.input.yield(item) else {
            return shedding.withdraw(topic.board)
        }
    }

    /// Whether nothing that was taken is still to be done.
    var isIdle: Bool { shedding.isIdle }

    /// How much there is to do now.
    var load: LoadLevel { shedding.level }

    /// Whether its board has not sent too much; says so at the first drop and at each power
    /// of two.
    private func admits(_ topic: ContractTopic) -> Bool {
        let kind: TrafficMeter.Kind
        switch topic {
        case .outbox: kind = .outbox
        case .status: kind = .status
        case .inbox, .data: return false
        }
        let admission = meter.withLock {
            $0.admit(kind, of: topic.board, now: SystemClock.monotonic)
        }
        guard case .dropped(let count) = admission else { return true }
        if count & (count - 1) == 0 {
            logger.warning(
                "a board sends too much; some is dropped",
                metadata: ["board": "\(topic.board)", "count": "\(count)", "last": "\(kind)"])
        }
        return false
    }

    /// Works until its task is cancelled.
    func run() async {
        await withTaskGroup { group in
            for lane in lanes {
                group.addTask {
                    for await item in lane.stream {
                        await self.work(item)
                        self.shedding.leave(item.topic.board)
                    }
                }
            }
            group.addTask { await self.shedding.run { self.file($1, $0) } }
        }
    }

    private func work(_ item: Item) async {
        do throws(AuthorityError) {
            switch item.topic {
            case .outbox(let board): try await hear(item.payload, from: board)
            case .status(let board):
                let isUp = try await note(item.payload, of: board)
                if isUp, !item.isRetained { await courier.greet(board) }
            case .inbox, .data: break
            }
        } catch {
            logger.log(
                level: Task.isCancelled ? .debug : .error,
                "a board's message waits for its repetition: \(error.words)")
        }
    }

    private func hear(
        _ payload: [UInt8], from board: InstallationID
    ) async throws(AuthorityError) {
        // Another authority reads now, and answers.
        guard duty?.mayAnswer ?? true else { return }
        // It asks again; an answer could set its clock by years and end its session.
        guard clock.mayAnswer else { return leave(board) }
        let key = keys.key(of: board)
        let heard = try await authority.hear(payload, from: board, trying: key)
        if heard.key != key { keys.remember(heard.key, of: board) }
        if let type = heard.type { self.heard.withLock { $0[type, default: 0] += 1 } }
        if heard.isNewAhead { noteAhead(board) }
        if let number = heard.lastForwarded { live?.note(forwarded: number, of: board) }
        if let reason = heard.refused {
            refusals?.note(RefusedRequest(
                reason, subject: "board \(board)", className: "_Session",
                operation: heard.type?.rawValue ?? "unreadable"))
        }
        switch heard.answer {
        case .dropped(let reason):
            count(reason, board)
            return
        case .silent:
            break
        case .reply(let payload):
            try await publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: authority.info.topicRoot),
                payload: payload, properties: MessageProperties(messageExpiry: 600)))
        }
        if heard.leavesChores { courier.nudge(board.description) }
    }

    /// Each board once.
    private func noteAhead(_ board: InstallationID) {
        say("a board is ahead of this store; was a backup restored?", board, counting: ahead)
    }

    private func leave(_ board: InstallationID) {
        say("a board is not answered: the clock is far off", board, counting: unheard)
    }

    /// In the log at the first and at each power of two.
    private func say(
        _ text: Logger.Message, _ board: InstallationID, counting counter: borrowing Mutex<Int>
    ) {
        let count = counter.withLock { count in
            count += 1
            return count
        }
        guard count & (count - 1) == 0 else { return }
        logger.warning(text, metadata: ["count": "\(count)", "last": "\(board)"])
    }

    /// What boards sent since the start: those of a type, and those dropped by why.
    var tally: TrafficTally {
        var tally = TrafficTally()
        for (type, count) in heard.withLock({ $0 }) { tally.requests[type.rawValue] = count }
        for (reason, count) in dropped.withLock({ $0 }) {
            tally.dropped[reason.rawValue] = count
        }
        tally.dropped["clock"] = unheardCount
        tally.shed = shedding.tally
        return tally
    }

    /// How many messages were not looked at because the clock was far off, since the start.
    var unheardCount: Int { unheard.withLock { $0 } }

    /// Counts, and says so at the first and at each power of two: a flood fills no log.
    private func count(_ reason: DropReason, _ board: InstallationID) {
        let count = dropped.withLock { counts in
            counts[reason, default: 0] += 1
            return counts[reason] ?? 0
        }
        guard count & (count - 1) == 0 else { return }
        logger.warning(
            "dropped what could not be opened",
            metadata: ["reason": "\(reason.rawValue)", "count": "\(count)", "last": "\(board)"])
    }

    /// Whether it says that the board is there.
    private func note(
        _ payload: [UInt8], of board: InstallationID
    ) async throws(AuthorityError) -> Bool {
        let status: BoardStatus
        do throws(WireError) {
            status = try BoardStatus(parsing: payload)
        } catch {
            return false
        }
        live?.note(queue: status.queue, refused: status.refused, of: board)
        // All authorities hear it; one keeps it.
        guard duty?.isReader ?? true else { return false }
        try await authority.note(status, of: board)
        return status.up
    }
}
