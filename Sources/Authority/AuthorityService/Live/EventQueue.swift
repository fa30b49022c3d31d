import AuthorityCore
import Sessions
import Synchronization

/// The bounded queue of one event stream, for one reader.
///
/// If the reader is slow, events are dropped when a later event replaces them or when they are
/// lossy. If that is not enough, the stream is cut.
final class EventQueue: Sendable {
    fileprivate struct State {
        var events: [ConsoleEvent] = []
        var lossy = 0
        var reader: CheckedContinuation<ConsoleEvent?, Never>?
        var isClosed = false
        /// The time since which the oldest event has waited; nil if there is none.
        var waitsSince: ContinuousClock.Instant?
        var cut: (@Sendable () -> Void)?
        var isCut = false
    }

    private let state = Mutex(State())
    static let lossyLimit = 64
    static let limit = 256
    /// The time limit for a reader to take one event.
    static let patience = Duration.seconds(20)
    /// The same for the last event.
    static let lastPatience = Duration.milliseconds(700)

    func offer(_ event: ConsoleEvent) {
        let reader = state.withLock { state -> CheckedContinuation<ConsoleEvent?, Never>? in
            guard !state.isClosed else { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            state.add(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    /// Takes no events after `last`. Events that still wait are dropped.
    func close(_ last: ConsoleEvent? = nil) {
        let reader = state.withLock { state -> CheckedContinuation<ConsoleEvent?, Never>? in
            guard !state.isClosed else { return nil }
            state.isClosed = true
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            state.events = last.map { [$0] } ?? []
            state.waitsSince = .now
            return nil
        }
        reader?.resume(returning: last)
    }

    /// Drops the events of a board that wait, because its reader may not see it any more.
    func drop(_ board: InstallationID) {
        state.withLock { state in
            state.events.removeAll { $0.board == board }
            state.lossy = state.events.count(where: \.isLossy)
        }
    }

    func next() async -> ConsoleEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> ConsoleEvent?? in
                    if let event = state.take() { return .some(event) }
                    if state.isClosed || Task.isCancelled { return .some(nil) }
                    state.reader = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            close()
        }
    }

    func onCut(_ action: @escaping @Sendable () -> Void) {
        let isCut = state.withLock { state in
            if !state.isCut { state.cut = action }
            return state.isCut
        }
        if isCut { action() }
    }

    /// Cuts the stream if its reader is too slow. Returns whether the stream has ended.
    func check(at now: ContinuousClock.Instant) -> Bool {
        let (isOver, cut) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            let patience = state.isClosed ? Self.lastPatience : Self.patience
            let isLate = state.waitsSince.map { now - $0 > patience } ?? false
            let isFull = state.events.count - state.lossy > Self.limit
            guard isLate || isFull, !state.isCut else {
                return (state.isClosed && state.events.isEmpty, nil)
            }
            state.isCut = true
            state.isClosed = true
            state.events = []
            defer { state.cut = nil }
            return (true, state.cut)
        }
        cut?()
        return isOver
    }
}

extension EventQueue.State {
    fileprivate mutating func add(_ event: ConsoleEvent) {
        events.removeAll { $0.isSuperseded(by: event) }
        lossy = events.count(where: \.isLossy)
        if event.isLossy, lossy >= EventQueue.lossyLimit,
            let oldest = events.firstIndex(where: \.isLossy)
        {
            events.remove(at: oldest)
            lossy -= 1
        }
        if event.isLossy { lossy += 1 }
        events.append(event)
        if waitsSince == nil { waitsSince = .now }
    }

    fileprivate mutating func take() -> ConsoleEvent? {
        guard !events.isEmpty else {
            waitsSince = nil
            return nil
        }
        let event = events.removeFirst()
        if event.isLossy { lossy -= 1 }
        waitsSince = events.isEmpty ? nil : .now
        return event
    }
}

extension ConsoleEvent {
    /// The board whose state or readings it shows.
    fileprivate var board: InstallationID? {
        switch self {
        case .board(let board): board.installation
        case .minute(let minute): minute.board
        case .reading(let reading): reading.board
        case .hello, .claim, .sessions, .audit, .unshared, .quiet, .bye: nil
        }
    }

    /// Whether a later event replaces this one.
    fileprivate func isSuperseded(by later: ConsoleEvent) -> Bool {
        switch (self, later) {
        case (.board(let old), .board(let new)): old.installation == new.installation
        case (.minute(let old), .minute(let new)): old.board == new.board
        case (.sessions, .sessions), (.quiet, _): true
        default: false
        }
    }
}

/// The handle of a stream's reader. Releasing it ends the stream.
final class EventHandle: EventSource {
    private let queue: EventQueue
    private let release: @Sendable () -> Void

    init(_ queue: EventQueue, release: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.release = release
    }

    deinit { release() }

    func next() async -> ConsoleEvent? { await queue.next() }
    func close() { queue.close() }
    func onCut(_ action: @escaping @Sendable () -> Void) { queue.onCut(action) }
}
