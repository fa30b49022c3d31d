import AuthorityCore
import LinuxIO
import Logging
import MQTT
import Sessions
import Synchronization
import Wire

/// Limits the time that boards' requests wait. Under load a board receives a refusal at once, and
/// asks again later.
///
/// A refusal costs one decryption and one encryption, so refusals are limited, too. Requests beyond
/// the limit are counted and dropped unopened, and their boards repeat them. A sender without a
/// device key on record costs no cryptography: nothing is opened for it.
final class LoadShedding: Sendable {
    /// Passes a request to the lanes in spite of the load.
    typealias Taking = @Sendable (ContractTopic, [UInt8]) -> Void
    typealias Publishing = @Sendable (OutgoingMessage) async throws(AuthorityError) -> Void

    private struct Item: Sendable {
        let board: InstallationID
        let payload: [UInt8]
        let level: LoadLevel
    }

    private struct Books: Sendable {
        var admission = Admission()
        var waiting = WaitingMessages()
        var budget = TokenBucket(rate: 500, burst: 500, now: .zero)
        /// Requests that were refused and have not come again.
        var refused: Set<MessageID> = []
        var tally = SheddingTally()
    }

    private static let workers = 2
    private static let room = 256
    private static let memory = 65_536

    private let authority: Authority
    private let publish: Publishing
    private let logger: Logger
    private let books = Mutex(Books())
    private let stream: AsyncStream<Item>
    private let input: AsyncStream<Item>.Continuation

    init(authority: Authority, publish: @escaping Publishing, logger: Logger) {
        self.authority = authority
        self.publish = publish
        self.logger = logger
        (stream, input) = AsyncStream.makeStream(
            of: Item.self, bufferingPolicy: .bufferingOldest(Self.room))
    }

    /// Counts a message in, if it may wait in a lane. False if enough messages of this board wait;
    /// the board repeats it. Call `leave` or `withdraw` for each message that entered.
    func enter(_ board: InstallationID) -> Bool {
        let mayWait = books.withLock { books in
            guard books.waiting.enter(board) else { return false }
            books.admission.began(at: SystemClock.monotonic)
            return true
        }
        if !mayWait { note(.dropped, board) }
        return mayWait
    }

    /// Counts out a message that is done.
    func leave(_ board: InstallationID) {
        books.withLock { books in
            books.waiting.leave(board)
            books.admission.ended(at: SystemClock.monotonic)
        }
    }

    /// Counts out a message whose lane was full. It is dropped, and its board repeats it.
    func withdraw(_ board: InstallationID) {
        books.withLock { books in
            books.waiting.leave(board)
            books.admission.withdrew()
        }
        note(.dropped, board)
    }

    /// Whether no message waits or is being handled.
    var isIdle: Bool { books.withLock { $0.admission.waiting == 0 } }
    /// The counts of shed requests since the start.
    var tally: SheddingTally { books.withLock { $0.tally } }
    /// The current load.
    var level: LoadLevel { books.withLock { $0.admission.level(at: SystemClock.monotonic) } }

    /// True if the request may enter a lane now. If false, it is dropped here, or `run` refuses it,
    /// passes it to a lane or drops it.
    func admits(_ payload: [UInt8], of board: InstallationID) -> Bool {
        let now = SystemClock.monotonic
        let (level, isAfforded) = books.withLock { books in
            let level = books.admission.level(at: now)
            return (level, level == .light || books.budget.take(now: now))
        }
        guard level != .light else { return true }
        let item = Item(board: board, payload: payload, level: level)
        guard isAfforded, case .enqueued = input.yield(item) else {
            note(.dropped, board)
            return false
        }
        return false
    }

    /// Works until its task is cancelled.
    func run(_ take: @escaping Taking) async {
        await withTaskGroup { group in
            for _ in 0..<Self.workers {
                group.addTask {
                    for await item in self.stream { await self.work(item, take) }
                }
            }
        }
    }

    private func work(_ item: Item, _ take: Taking) async {
        do throws(AuthorityError) {
            let outcome = try await authority.triage(
                item.payload, from: item.board, at: item.level, wasRefused: wasRefused)
            switch outcome {
            case .take: take(.outbox(item.board), item.payload)
            case .refused(let id, let payload):
                remember(id)
                note(.refused, item.board)
                try await publish(OutgoingMessage(
                    topic: ContractTopic.inbox(item.board).text(under: authority.info.topicRoot),
                    payload: payload, properties: MessageProperties(messageExpiry: 60)))
            case .dropped: note(.dropped, item.board)
            }
        } catch {
            note(.dropped, item.board)
        }
    }

    /// Whether this request was refused before. Asking removes the record.
    private func wasRefused(_ id: MessageID) -> Bool {
        books.withLock { $0.refused.remove(id) != nil }
    }

    private func remember(_ id: MessageID) {
        books.withLock { books in
            if books.refused.count >= Self.memory { books.refused = [] }
            books.refused.insert(id)
        }
    }

    private enum Shed { case refused, dropped }

    /// Counts, and logs the first and each power of two.
    private func note(_ what: Shed, _ board: InstallationID) {
        let (tally, count) = books.withLock { books -> (SheddingTally, Int) in
            switch what {
            case .refused:
                books.tally.refused += 1
                return (books.tally, books.tally.refused)
            case .dropped:
                books.tally.dropped += 1
                return (books.tally, books.tally.dropped)
            }
        }
        guard count & (count - 1) == 0 else { return }
        logger.warning(
            "overloaded: boards must send their requests again later",
            metadata: [
                "refused": "\(tally.refused)", "dropped": "\(tally.dropped)", "last": "\(board)",
            ])
    }
}

/// The requests that were shed because of overload, since the start.
struct SheddingTally: Equatable, Sendable {
    /// Answered with 155.
    var refused = 0
    /// Dropped without an answer, because even refusals were over their limit.
    var dropped = 0
}
