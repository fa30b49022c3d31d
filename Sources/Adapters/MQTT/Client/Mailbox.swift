import LinuxIO
import Synchronization

/// Where a task waits for what its command brings: reason codes, or the end.
typealias Reply = CheckedContinuation<Result<[UInt8], MQTTError>, Never>

/// What a task asks of the thread that owns the connection.
enum Command: Sendable {
    case publish(OutgoingMessage, Reply)
    case subscribe([Subscription], marksRetained: Bool, Reply)
    case unsubscribe([String], Reply)
    case close

    var reply: Reply? {
        switch self {
        case .publish(_, let reply), .subscribe(_, _, let reply), .unsubscribe(_, let reply):
            reply
        case .close: nil
        }
    }
}

/// The only thing that tasks and the thread share: a locked queue and an event that wakes.
final class Mailbox: Sendable {
    private struct State {
        var commands: [Command] = []
        var answer: Result<ConnectAck, MQTTError>?
        var answerWaiter: CheckedContinuation<Result<ConnectAck, MQTTError>, Never>?
        var endWaiters: [CheckedContinuation<Void, Never>] = []
        var isClosing = false
        var hasEnded = false
        var droppedMessages = 0
    }

    let event: EventDescriptor
    private let sink: AsyncStream<BrokerClientEvent>.Continuation
    private let state = Mutex(State())

    init(_ sink: AsyncStream<BrokerClientEvent>.Continuation) throws(SystemError) {
        event = try EventDescriptor()
        self.sink = sink
    }
}

// The tasks' side.
extension Mailbox {
    var droppedMessages: Int { state.withLock { $0.droppedMessages } }
    var isOpen: Bool { state.withLock { !$0.hasEnded } }

    /// Waits for the outcome of the connection attempt.
    func answer() async -> Result<ConnectAck, MQTTError> {
        await withCheckedContinuation { waiter in
            let known = state.withLock { state in
                if state.answer == nil { state.answerWaiter = waiter }
                return state.answer
            }
            if let known { waiter.resume(returning: known) }
        }
    }

    func request(_ make: (Reply) -> Command) async -> Result<[UInt8], MQTTError> {
        await withCheckedContinuation { reply in
            if !post(make(reply)) { reply.resume(returning: .failure(.notConnected)) }
        }
    }

    /// Queues a command; `false` when the thread takes none any more.
    @discardableResult
    func post(_ command: Command) -> Bool {
        // Commands that wait already have woken the thread.
        let (isTaken, isFirst) = state.withLock { state in
            let isFirst = state.commands.isEmpty
            if !state.hasEnded { state.commands.append(command) }
            return (!state.hasEnded, isFirst)
        }
        if isTaken, isFirst { event.raise() }
        return isTaken
    }

    /// Whether the caller is the first who closes, and so the one who joins the thread.
    func claimClosing() -> Bool {
        state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
    }

    /// Ends the thread of a client that nobody closed; `true`: the thread is to be detached.
    func abandon() -> Bool {
        guard claimClosing() else { return false }
        post(.close)
        return true
    }

    /// Waits until the thread has ended.
    func ended() async {
        await withCheckedContinuation { waiter in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.endWaiters.append(waiter) }
                return state.hasEnded
            }
            if hasEnded { waiter.resume() }
        }
    }
}

// The thread's side.
extension Mailbox {
    func takeCommands() -> [Command] {
        event.take()
        return state.withLock { state in
            defer { state.commands.removeAll() }
            return state.commands
        }
    }

    func connected(_ ack: ConnectAck) {
        settle(.success(ack))
    }

    func deliver(_ message: IncomingMessage) {
        if case .dropped = sink.yield(.message(message)) {
            state.withLock { $0.droppedMessages += 1 }
        }
    }

    /// The last call of the thread: nobody waits for anything after it.
    func finish(_ error: MQTTError) {
        let (commands, waiters) = state.withLock { state in
            state.hasEnded = true
            defer { (state.commands, state.endWaiters) = ([], []) }
            return (state.commands, state.endWaiters)
        }
        settle(.failure(error))
        for command in commands {
            command.reply?.resume(returning: .failure(.notConnected))
        }
        sink.yield(.disconnected(error))
        sink.finish()
        for waiter in waiters { waiter.resume() }
    }

    /// Tells the attempt's outcome, once; later ones are not an answer to it.
    private func settle(_ answer: Result<ConnectAck, MQTTError>) {
        let waiter = state.withLock { state in
            if state.answer == nil { state.answer = answer }
            defer { state.answerWaiter = nil }
            return state.answerWaiter
        }
        waiter?.resume(returning: answer)
    }
}
