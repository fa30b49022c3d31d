import LinuxIO
import Synchronization

/// Resumes the task that sent a command, with reason codes or an error.
typealias CommandReply = CheckedContinuation<Result<[UInt8], MQTTError>, Never>

/// A command of a task to the thread that owns the connection.
enum Command: Sendable {
    case publish(OutgoingMessage, CommandReply)
    case subscribe([Subscription], sendRetained: Bool, marksRetained: Bool, CommandReply)
    case unsubscribe([String], CommandReply)
    case acknowledge
    case close

    var reply: CommandReply? {
        switch self {
        case .publish(_, let reply), .subscribe(_, _, _, let reply), .unsubscribe(_, let reply):
            reply
        case .acknowledge, .close: nil
        }
    }
}

/// The only state that tasks and the thread share: a locked queue and an event that wakes the
/// thread.
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

// The functions that tasks call.
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

    func request(_ make: (CommandReply) -> Command) async -> Result<[UInt8], MQTTError> {
        await withCheckedContinuation { reply in
            if !post(make(reply)) { reply.resume(returning: .failure(.notConnected)) }
        }
    }

    /// Queues a command. `false` if the thread has ended.
    @discardableResult
    func post(_ command: Command) -> Bool {
        // If other commands wait, the thread is awake already.
        let (isTaken, isFirst) = state.withLock { state in
            let isFirst = state.commands.isEmpty
            if !state.hasEnded { state.commands.append(command) }
            return (!state.hasEnded, isFirst)
        }
        if isTaken, isFirst { event.raise() }
        return isTaken
    }

    /// Whether this is the first call. Only the first caller joins the thread.
    func claimClosing() -> Bool {
        state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
    }

    /// Ends the thread of a client that was not closed. `true`: the caller must detach the thread.
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

// The functions that the thread calls.
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

    func deliver(_ batch: [IncomingMessage]) { sink.yield(.batch(batch)) }

    /// The thread's last call. It resumes all waiting tasks.
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

    /// Reports the attempt's outcome, once. Later calls change nothing.
    private func settle(_ answer: Result<ConnectAck, MQTTError>) {
        let waiter = state.withLock { state in
            if state.answer == nil { state.answer = answer }
            defer { state.answerWaiter = nil }
            return state.answerWaiter
        }
        waiter?.resume(returning: answer)
    }
}
