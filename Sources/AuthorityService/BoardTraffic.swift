import AuthorityCore
import LinuxIO
import Logging
import Mosquitto
import Sessions
import Synchronization
import Wire

/// What boards send: handled in order for each board, side by side for different ones.
final class BoardTraffic: Sendable {
    private let authority: Authority
    private let link: BrokerLink
    private let courier: BrokerCourier
    private let clock: ClockGuard
    private let live: LiveBoards?
    private let logger: Logger
    private let lanes: [Lane]
    /// What could not be opened, by reason, since the start.
    private let dropped = Mutex<[DropReason: Int]>([:])
    private let unheard = Mutex(0)
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
    }

    init(
        authority: Authority, link: BrokerLink, courier: BrokerCourier, clock: ClockGuard,
        live: LiveBoards? = nil, logger: Logger
    ) {
        self.live = live
        self.authority = authority
        self.link = link
        self.courier = courier
        self.clock = clock
        self.logger = logger
        lanes = (0..<Self.laneCount).map { _ in
            let (stream, input) = AsyncStream.makeStream(
                of: Item.self, bufferingPolicy: .bufferingOldest(Self.laneLimit))
            return Lane(stream: stream, input: input)
        }
    }

    /// Files a message under its board. A full lane drops it: the board asks again.
    func take(_ message: IncomingMessage) {
        let root = authority.info.topicRoot
        guard let topic = ContractTopic(message.topic, under: root) else { return }
        guard message.payload.count <= SealedEnvelope.limit else {
            count(.notSealed, topic.board)
            return
        }
        guard admits(topic) else { return }
        let lane = lanes[Int(topic.board.description.utf8.reduce(UInt(5381)) {
            ($0 &* 33) ^ UInt($1)
        } % UInt(Self.laneCount))]
        lane.input.yield(Item(topic: topic, payload: message.payload))
    }

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
                    for await item in lane.stream { await self.work(item) }
                }
            }
        }
    }

    private func work(_ item: Item) async {
        do throws(AuthorityError) {
            switch item.topic {
            case .outbox(let board): try await hear(item.payload, from: board)
            case .status(let board): try await note(item.payload, of: board)
            case .inbox, .data: break
            }
        } catch {
            logger.error("a board's message waits for its repetition: \(error.words)")
        }
    }

    private func hear(
        _ payload: [UInt8], from board: InstallationID
    ) async throws(AuthorityError) {
        // It asks again; an answer could set its clock by years and end its session.
        guard clock.mayAnswer else { return leave(board) }
        let heard = try await authority.hear(payload, from: board)
        if let type = heard.type { self.heard.withLock { $0[type, default: 0] += 1 } }
        switch heard.answer {
        case .dropped(let reason):
            count(reason, board)
            return
        case .silent:
            break
        case .reply(let payload):
            try await link.publish(OutgoingMessage(
                topic: ContractTopic.inbox(board).text(under: authority.info.topicRoot),
                payload: payload, properties: MessageProperties(messageExpiry: 600)))
        }
        if heard.leavesChores { courier.nudge(board.description) }
    }

    private func leave(_ board: InstallationID) {
        let count = unheard.withLock { count in
            count += 1
            return count
        }
        guard count & (count - 1) == 0 else { return }
        logger.warning(
            "a board is not answered: the clock is far off",
            metadata: ["count": "\(count)", "last": "\(board)"])
    }

    /// What boards sent since the start: those of a type, and those dropped by why.
    var tally: TrafficTally {
        var tally = TrafficTally()
        for (type, count) in heard.withLock({ $0 }) { tally.requests[type.rawValue] = count }
        for (reason, count) in dropped.withLock({ $0 }) {
            tally.dropped[reason.rawValue] = count
        }
        tally.dropped["clock"] = unheardCount
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

    private func note(
        _ payload: [UInt8], of board: InstallationID
    ) async throws(AuthorityError) {
        let status: BoardStatus
        do throws(WireError) {
            status = try BoardStatus(parsing: payload)
        } catch {
            return
        }
        try await authority.note(status, of: board)
        live?.note(queue: status.queue, refused: status.refused, of: board)
    }
}
