import AuthorityBroker
import AuthorityCore
import LinuxIO
import Logging
import MQTT
import Sessions
import Synchronization
import Wire

/// Handles the boards' messages: one at a time for each board, in parallel for different boards.
/// Under load their order may change.
final class BoardTraffic: Sendable {
    private let authority: Authority
    private let worker: BrokerWorker
    private let clock: ClockGuard
    private let live: LiveBoards?
    private let duty: ReaderDuty?
    private let refusals: RefusalLog?
    private let logger: Logger
    private let lanes: [Lane]
    private let keys = DeviceKeyCache()
    private let shedding: LoadShedding
    private let publish: LoadShedding.Publishing
    /// The number of messages that could not be opened, by reason, since the start.
    private let dropped = Mutex<[DropReason: Int]>([:])
    private let unheard = Mutex(0)
    private let ahead = Mutex(0)
    private let heard = Mutex<[BoardMessage.Kind: Int]>([:])
    private let meter = Mutex(TrafficMeter())
    /// The number of lanes, and so of requests that may wait together for one commit.
    private static let laneCount = 256
    private static let laneLimit = 128

    private struct Lane: Sendable {
        let stream: AsyncStream<Item>
        let input: AsyncStream<Item>.Continuation
    }

    private struct Item: Sendable {
        let topic: ContractTopic
        let payload: [UInt8]
        /// Whether the broker retained the message, so that it is not new.
        let isRetained: Bool
    }

    init(
        authority: Authority, link: BrokerLink, worker: BrokerWorker, clock: ClockGuard,
        live: LiveBoards? = nil, duty: ReaderDuty? = nil,
        publish: LoadShedding.Publishing? = nil, refusals: RefusalLog? = nil, logger: Logger
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
        self.worker = worker
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

    /// Puts a message into its board's lane, if it passes, in this order: size, rate limit
    /// (`TrafficMeter`), load (`LoadShedding`), 8 waiting of its board, room in the lane. Else it
    /// is dropped, and the board asks again. Under high load the board receives a refusal instead.
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
        // Boards choose their ids. Swift seeds the hash for each process, so no board chooses its
        // lane.
        let lane = lanes[Int(UInt(bitPattern: topic.board.hashValue) % UInt(Self.laneCount))]
        let item = Item(topic: topic, payload: payload, isRetained: isRetained)
        guard case .enqueued = lane.input.yield(item) else {
            return shedding.withdraw(topic.board)
        }
    }

    /// Whether all messages that were taken are done.
    var isIdle: Bool { shedding.isIdle }

    /// The current load.
    var load: LoadLevel { shedding.level }

    /// Whether the board is within its rate limit. Logs the first drop and each power of two.
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
                "a board sends too many messages; some are dropped",
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
                if isUp, !item.isRetained { await worker.greet(board) }
            case .inbox, .data: break
            }
        } catch {
            logger.log(
                level: Task.isCancelled ? .debug : .error,
                "a board's message was not handled; the board sends it again: \(error.words)")
        }
    }

    private func hear(
        _ payload: [UInt8], from board: InstallationID
    ) async throws(AuthorityError) {
        // Another authority has the reader duty and answers.
        guard duty?.mayAnswer ?? true else { return }
        // The board asks again. An answer with a wrong clock could end its session.
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
        if heard.leavesJobs { worker.wake(board.description) }
    }

    /// Called once for each board.
    private func noteAhead(_ board: InstallationID) {
        say("a board is ahead of this store; was a backup restored?", board, counting: ahead)
    }

    private func leave(_ board: InstallationID) {
        say("a board gets no answer: our clock is wrong", board, counting: unheard)
    }

    /// Logs the first time and each power of two.
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

    /// The counts since the start: requests by type, dropped messages by reason.
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

    /// The number of requests without an answer because the clock was wrong, since the start.
    var unheardCount: Int { unheard.withLock { $0 } }

    /// Counts a drop, and logs the first and each power of two, so that a flood does not fill the
    /// log.
    private func count(_ reason: DropReason, _ board: InstallationID) {
        let count = dropped.withLock { counts in
            counts[reason, default: 0] += 1
            return counts[reason] ?? 0
        }
        guard count & (count - 1) == 0 else { return }
        logger.warning(
            "dropped a message that could not be opened",
            metadata: ["reason": "\(reason.rawValue)", "count": "\(count)", "last": "\(board)"])
    }

    /// Handles a board's status. True if this authority stored it and the board is up.
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
        // All authorities receive the status; one stores it.
        guard duty?.isReader ?? true else { return false }
        try await authority.note(status, of: board)
        return status.up
    }
}
