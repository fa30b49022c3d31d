import AuthorityCore
import LinuxIO
import MQTT
import Sessions
import Synchronization
import Wire

/// What boards send just now, in memory, and who waits to hear of it.
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
        /// Boards whose running minute changed since somebody asked; kept while somebody does.
        var changed: Set<InstallationID> = []
        var isWatched = false
    }

    private let state: Mutex<State>
    private let root: TopicRoot
    private let clock: @Sendable () -> Timestamp

    /// Of one board so many messages a second are read, at once so many more; the rest are
    /// counted. What is read costs a parse, and a flood is not to take the time of all.
    private static let readsOfBoard = (rate: 20, burst: 400)
    private static let readsOfAll = (rate: 1000, burst: 4000)
    private static let readingsOfStream = 20
    private static let boardLimit = 10_000

    init(root: TopicRoot, clock: @escaping @Sendable () -> Timestamp) {
        self.root = root
        self.clock = clock
        state = Mutex(State(allReads: TokenBucket(
            rate: Self.readsOfAll.rate, burst: Self.readsOfAll.burst,
            now: SystemClock.monotonic)))
    }

    /// Takes whatever came by a data topic. What is retained is no news.
    func take(_ message: IncomingMessage) {
        guard !message.retain,
            case .data(let board, let path, _)? = ContractTopic(message.topic, under: root)
        else { return }
        let now = clock()
        let number = message.properties.sequence
        let reading = mayRead(board)
            ? Reading(message.payload, path, sequence: number, of: board, at: now) : nil
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

    /// What a board's status says of its queue, and of what it refused since its start.
    func note(queue: Int64?, refused: Int64?, of board: InstallationID) {
        let now = clock()
        state.withLock { state in
            state.data.note(queue: queue, refused: refused, of: board, at: now)
            state.note(change: board, limit: Self.boardLimit)
        }
    }

    /// The highest number that the broker has acknowledged to a board, as its heartbeat tells.
    func note(forwarded number: Int64, of board: InstallationID) {
        let now = clock()
        state.withLock { state in
            state.data.note(forwarded: number, of: board, at: now)
            state.note(change: board, limit: Self.boardLimit)
        }
    }

    /// Whether all that boards send comes here from now on.
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

// What streams of events wait for.
extension LiveBoards {
    /// Whether anybody wants to hear which minutes change.
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
            rate: readingsOfStream, burst: readingsOfStream, now: SystemClock.monotonic)
    }

    /// The readings of watched boards since the last call, in their order for each board.
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

    /// The running minutes that changed since they were last taken; at most `limit`, the
    /// others wait.
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
    /// The board's own number of a data message.
    /// Source: the wire contract, Data topics and properties.
    fileprivate var sequence: Int64? {
        userProperties.first { $0.name == "seq" }.flatMap { Int64($0.value) }
    }
}
