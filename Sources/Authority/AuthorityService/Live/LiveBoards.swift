import AuthorityCore
import LinuxIO
import MQTT
import Sessions
import Synchronization
import Wire

/// The boards' current data, in memory, for event streams and pages.
final class LiveBoards: Sendable {
    fileprivate struct Watch {
        var watchers = 0
        var pending: [Reading] = []
        var bucket: TokenBucket
    }

    fileprivate struct State {
        var data = LiveData()
        var reads: [InstallationID: TokenBucket] = [:]
        var allReads: TokenBucket
        var watches: [InstallationID: Watch] = [:]
        /// Boards whose running minute changed since the last read; kept only while a stream is
        /// open.
        var changed: Set<InstallationID> = []
        var isWatched = false
    }

    private let state: Mutex<State>
    private let root: TopicRoot
    private let clock: @Sendable () -> Timestamp

    /// Messages of one board that are parsed a second, and the burst. The rest are only counted,
    /// because parsing takes time and a flood must not slow the others.
    private static let readsOfBoard = (rate: 20, burst: 400)
    private static let readsOfAll = (rate: 1000, burst: 4000)
    /// Of one board, to all its streams, a second. Other readings are not sent.
    private static let readingsOfWatchedBoard = 20
    private static let boardLimit = 10_000

    init(root: TopicRoot, clock: @escaping @Sendable () -> Timestamp) {
        self.root = root
        self.clock = clock
        state = Mutex(State(allReads: TokenBucket(
            rate: Self.readsOfAll.rate, burst: Self.readsOfAll.burst,
            now: SystemClock.monotonic)))
    }

    /// Takes a message from a data topic. Retained messages are ignored.
    func take(_ message: IncomingMessage) {
        guard !message.retain,
            case .data(let board, let path, _)? = ContractTopic(message.topic, under: root)
        else { return }
        let now = clock()
        let number = message.properties.sequence
        let reading = mayRead(board)
            ? Reading(
                message.payload, path, sequence: number, of: board, at: now,
                writtenAt: message.properties.writtenAt(by: now)) : nil
        state.withLock { state in
            if let reading {
                state.data.take(reading)
                state.offer(reading)
            } else {
                state.data.count(board, number: number, at: now)
            }
            state.note(change: board, limit: Self.boardLimit)
        }
    }

    private func mayRead(_ board: InstallationID) -> Bool {
        let now = SystemClock.monotonic
        return state.withLock { state in
            if state.reads.count >= Self.boardLimit, state.reads[board] == nil { state.reads = [:] }
            let (rate, burst) = Self.readsOfBoard
            var bucket = state.reads[board] ?? TokenBucket(rate: rate, burst: burst, now: now)
            let isOwn = bucket.take(now: now)
            state.reads[board] = bucket
            return isOwn && state.allReads.take(now: now)
        }
    }

    /// Notes the queue length from a board's status, and the number of messages that it refused
    /// since its start.
    func note(queue: Int64?, refused: Int64?, of board: InstallationID) {
        let now = clock()
        state.withLock { state in
            state.data.note(queue: queue, refused: refused, of: board, at: now)
            state.note(change: board, limit: Self.boardLimit)
        }
    }

    /// Notes the highest sequence number that the broker has acknowledged, from a board's
    /// heartbeat.
    func note(forwarded number: Int64, of board: InstallationID) {
        let now = clock()
        state.withLock { state in
            state.data.note(forwarded: number, of: board, at: now)
            state.note(change: board, limit: Self.boardLimit)
        }
    }

    /// Notes whether all of the boards' data arrives here from now on.
    func listen(_ isListening: Bool) { state.withLock { $0.data.listen(isListening) } }

    func live(of board: InstallationID) -> BoardLive {
        let now = clock()
        return state.withLock { $0.data.live(of: board, at: now) }
    }

    func minutes(of board: InstallationID) -> MinuteCounts {
        let now = clock()
        return state.withLock { $0.data.minutes(of: board, at: now) }
    }

    func arrival(of board: InstallationID) -> Arrival? {
        let now = clock()
        return state.withLock { $0.data.arrival(of: board, at: now) }
    }

    func forget(_ board: InstallationID, before time: Timestamp) {
        state.withLock { $0.data.forget(board, before: time) }
    }

    func lastData(of board: InstallationID) -> Timestamp? {
        state.withLock { $0.data.lastData(of: board) }
    }
}

// The part that event streams read.
extension LiveBoards {
    /// Notes whether a stream is open that wants changed minutes.
    func setWatched(_ isWatched: Bool) {
        state.withLock { state in
            state.isWatched = isWatched
            if !isWatched { state.changed = [] }
        }
    }

    func watch(_ board: InstallationID) {
        state.withLock { state in
            state.watches[board, default: Watch(bucket: Self.bucket)].watchers += 1
        }
    }

    func unwatch(_ board: InstallationID) {
        state.withLock { state in
            guard var watch = state.watches[board] else { return }
            watch.watchers -= 1
            state.watches[board] = watch.watchers > 0 ? watch : nil
        }
    }

    private static var bucket: TokenBucket {
        TokenBucket(
            rate: readingsOfWatchedBoard, burst: readingsOfWatchedBoard, now: SystemClock.monotonic)
    }

    /// Takes the readings of watched boards since the last call, in order for each board.
    /// `EventHub` calls it every 50 ms.
    func takeReadings() -> [Reading] {
        state.withLock { state in
            var readings: [Reading] = []
            for board in Array(state.watches.keys) {
                readings += state.watches[board]?.pending ?? []
                state.watches[board]?.pending = []
            }
            return readings
        }
    }

    /// Takes the running minutes that changed since the last call: at most `limit`, the others
    /// wait.
    func takeMinutes(limit: Int) -> [RunningMinute] {
        let now = clock()
        return state.withLock { state in
            let boards = state.changed.prefix(limit)
            state.changed.subtract(boards)
            return boards.map { state.data.runningMinute(of: $0, at: now) }
        }
    }
}

extension LiveBoards.State {
    fileprivate mutating func offer(_ reading: Reading) {
        guard watches[reading.board]?.bucket.take(now: SystemClock.monotonic) == true else {
            return
        }
        watches[reading.board]?.pending.append(reading)
    }

    fileprivate mutating func note(change board: InstallationID, limit: Int) {
        if isWatched, changed.count < limit { changed.insert(board) }
    }
}

extension MessageProperties {
    /// The board's sequence number of a data message.
    /// Source: the wire contract, Data topics and properties.
    fileprivate var sequence: Int64? { number("seq") }

    /// When the board accepted the message. A time that is much ahead is an error.
    fileprivate func writtenAt(by now: Timestamp) -> Timestamp? {
        number("ts").map(Timestamp.init(milliseconds:)).flatMap { time in
            time > now + .seconds(3600) ? nil : time
        }
    }

    private func number(_ name: String) -> Int64? {
        userProperties.first { $0.name == name }.flatMap { Int64($0.value) }
    }
}
