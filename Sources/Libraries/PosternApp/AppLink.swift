import MQTT
import Sessions
import Wire

/// The connection of an app to the bus. It sends writes again until they are answered.
actor AppLink {
    typealias Answer = Result<Int, AppError>

    /// A write without an answer.
    private struct Waiting {
        let write: AppWrite
        let until: ContinuousClock.Instant
        let caller: CheckedContinuation<Answer, Never>
        /// When it is sent again.
        var due: ContinuousClock.Instant
        var pause = firstPause
        /// The answer to the last try, if it asks for another.
        var last: AppError?
        /// The code with which the bus refused it.
        var refusal: UInt8?
    }

    private static let firstPause = Duration.seconds(2)
    /// The longest pause between two tries of one write.
    private static let longestPause = Duration.seconds(60)
    /// The longest pause after an answer that asks for another try.
    private static let longestDelay = Duration.seconds(5)
    /// The number of commands that are remembered, and of answers that wait.
    private static let rememberedCommands = 256

    private let login: AppLogin
    private var client: BrokerClient?
    private var problem = "it has not answered"
    private(set) var isClosed = false
    /// By the correlation data. Each has its own, because two writes at once may have one key.
    private var waiting: [String: Waiting] = [:]
    private var session: AppSession?
    private var readers: [Int: AsyncStream<AppSession>.Continuation] = [:]
    private var nextReader = 0
    private var commands: AppCommandHandler?
    /// The newest commands taken, because MQTT may deliver one twice.
    private var seen: [MessageID] = []
    /// The answers that the bus has not acknowledged, the oldest first.
    private var answers: [(id: MessageID, payload: [UInt8])] = []
    private var timer: (at: ContinuousClock.Instant, task: Task<Void, Never>)?

    init(_ login: AppLogin) { self.login = login }

    /// Connects, and connects again whenever the connection ends. Returns when the task is
    /// cancelled; then all calls have ended.
    func run() async {
        var pause = Duration.seconds(1)
        while !Task.isCancelled {
            if let client = await connect() {
                pause = .seconds(1)
                await serve(client)
            }
            guard await Self.sleep(pause) else { break }
            pause = min(pause * 2, .seconds(8))
        }
        close()
    }

    /// Sends a write until it is answered. After `limit` it throws `sessionOver`, if that is the
    /// answer to the last try, and `unavailable` otherwise.
    func answer(to write: AppWrite, within limit: Duration) async throws(AppError) -> Int {
        let correlation = MessageID.made.description
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                begin(write, correlation, limit, caller)
            }
        } onCancel: {
            Task { await end(correlation, .failure(.cancelled)) }
        }
        return try answer.get()
    }

    /// Gives the session to a reader, now if it is known, and at each change, until it ends.
    func add(_ reader: AsyncStream<AppSession>.Continuation) {
        guard !isClosed else { return reader.finish() }
        let number = nextReader
        nextReader += 1
        readers[number] = reader
        reader.onTermination = { [weak self] _ in Task { await self?.remove(number) } }
        // It may have ended before this call.
        if let session, case .terminated = reader.yield(session) { remove(number) }
    }

    private func remove(_ number: Int) { readers[number] = nil }

    /// Ends the calls that wait, and the next ones at once.
    func close() {
        isClosed = true
        timer?.task.cancel()
        for (correlation, asked) in waiting {
            end(correlation, .failure(lastError(asked) ?? away(asked, "the app was closed")))
        }
        for reader in readers.values { reader.finish() }
        readers = [:]
        commands?.close()
    }

    /// False if the task was cancelled meanwhile.
    static func sleep(_ pause: Duration) async -> Bool {
        do {
            try await Task.sleep(for: pause)
            return true
        } catch {
            return false
        }
    }
}

// The connection.
extension AppLink {
    /// Nil if it fails; `problem` says why.
    private func connect() async -> BrokerClient? {
        do throws(AppError) {
            let options = try login.options()
            do throws(MQTTError) {
                let client = try await BrokerClient.connect(options, hasSpoken5: true)
                try await begin(client)
                return client
            } catch {
                problem = "\(error)"
            }
        } catch {
            problem = "\(error)"
        }
        return nil
    }

    private func begin(_ client: BrokerClient) async throws(MQTTError) {
        guard client.ack.version == .v5 else {
            throw .mqtt("the bus has no MQTT 5", reasonCode: 0)
        }
        let filters = [BusTopic.session, AppWrite.answers(login.app)]
            + (commands == nil ? [] : [AppCommand.topic(login.app)])
        let codes = try await client.subscribe(filters.map { Subscription($0) })
        for (filter, code) in zip(filters, codes) where code >= 0x80 {
            throw .mqtt("\(ReasonCode.text(code)): reading \(filter)", reasonCode: code)
        }
    }

    private func serve(_ client: BrokerClient) async {
        self.client = client
        let now = ContinuousClock.now
        for correlation in waiting.keys {
            waiting[correlation]?.pause = Self.firstPause
            publish(correlation, now)
        }
        for answer in answers { publish(answer.id, answer.payload, over: client) }
        for await event in client.events {
            switch event {
            case .message(let message): take(message)
            case .batch: break
            case .disconnected(let error): problem = "\(error)"
            }
        }
        self.client = nil
        await client.close()
    }

    private func take(_ message: IncomingMessage) {
        if message.topic == BusTopic.session {
            if let notice = AppSession(message.payload) { note(notice) }
            return
        }
        if message.topic == AppCommand.topic(login.app) { return takeCommand(message) }
        let correlation = String(
            decoding: message.properties.correlationData ?? [], as: UTF8.self)
        guard let asked = waiting[correlation], let answer = AgentAnswer(message.payload)
        else { return }
        switch answer {
        case .accepted(let number): end(correlation, .success(number))
        case .failed(let error): end(correlation, .failure(error))
        case .later(let error):
            let due = ContinuousClock.now + min(asked.pause, Self.longestDelay)
            waiting[correlation]?.last = error
            waiting[correlation]?.due = due
            wake(at: min(due, asked.until))
        }
    }

    private func note(_ session: AppSession) {
        let isNew = session != self.session
        self.session = session
        if isNew {
            for (number, reader) in readers {
                if case .terminated = reader.yield(session) { remove(number) }
            }
        }
        guard session.isAvailable else { return }
        let now = ContinuousClock.now
        for (correlation, asked) in waiting where asked.last != nil { publish(correlation, now) }
    }
}

// The commands.
extension AppLink {
    /// Gives commands to this handler from now on, in place of an earlier one.
    func handle(_ handler: @escaping AppCommandHandler.Handler) async {
        guard !isClosed else { return }
        commands?.close()
        let isFirst = commands == nil
        commands = AppCommandHandler(handler) { [weak self] id, answer in
            await self?.answer(id, answer)
        }
        guard isFirst, let client else { return }
        do throws(MQTTError) {
            _ = try await client.subscribe([Subscription(AppCommand.topic(login.app))])
        } catch {
            // The next connection begins with this topic.
            await client.close()
        }
    }

    private func takeCommand(_ message: IncomingMessage) {
        guard let command = AppCommand(message), !seen.contains(command.id),
            commands?.take(command) == true
        else { return }
        seen = seen.suffix(Self.rememberedCommands - 1) + [command.id]
    }

    private func answer(_ id: MessageID, _ payload: [UInt8]) {
        answers = answers.suffix(Self.rememberedCommands - 1) + [(id, payload)]
        if let client { publish(id, payload, over: client) }
    }

    /// An answer is sent again over the next connection until the bus has acknowledged it.
    private func publish(_ id: MessageID, _ payload: [UInt8], over client: BrokerClient) {
        let message = AppCommand.message(answering: id, payload, of: login.app)
        Task {
            do throws(MQTTError) {
                _ = try await client.publish(message)
            } catch {
                if error.layer != nil { return }
            }
            answers.removeAll { $0.id == id }
        }
    }
}

// The writes.
extension AppLink {
    private func begin(
        _ write: AppWrite, _ correlation: String, _ limit: Duration,
        _ caller: CheckedContinuation<Answer, Never>
    ) {
        let now = ContinuousClock.now
        guard !isClosed else {
            return caller.resume(returning: .failure(.closed))
        }
        let asked = Waiting(write: write, until: now + limit, caller: caller, due: now)
        waiting[correlation] = asked
        wake(at: asked.until)
        publish(correlation, now)
    }

    /// Does nothing while the bus is away.
    private func publish(_ correlation: String, _ now: ContinuousClock.Instant) {
        guard let client, var asked = waiting[correlation] else { return }
        asked.due = now + asked.pause
        asked.pause = min(asked.pause * 2, Self.longestPause)
        // The agent may store this try, and its answer may be lost.
        asked.last = nil
        waiting[correlation] = asked
        wake(at: min(asked.due, asked.until))
        let message = asked.write.message(of: login.app, correlation: correlation)
        Task {
            do throws(MQTTError) {
                let code = try await client.publish(message)
                waiting[correlation]?.refusal = code < 0x80 ? nil : code
            } catch {
                // If the connection has ended, the next one sends it again.
                if error.layer == nil { end(correlation, .failure(.invalid("\(error)"))) }
            }
        }
    }

    private func end(_ correlation: String, _ answer: Answer) {
        waiting.removeValue(forKey: correlation)?.caller.resume(returning: answer)
    }

    private func wake(at instant: ContinuousClock.Instant) {
        if let timer, timer.at <= instant { return }
        timer?.task.cancel()
        timer = (instant, Task { [weak self] in
            do {
                try await Task.sleep(until: instant, clock: .continuous)
            } catch {
                return
            }
            await self?.tick()
        })
    }

    /// Sends what is due, ends what is late, and sets the next time.
    private func tick() {
        timer = nil
        let now = ContinuousClock.now
        for (correlation, asked) in waiting {
            if asked.until <= now {
                end(correlation, .failure(lateError(asked)))
            } else if client != nil, asked.due <= now {
                publish(correlation, now)
            } else {
                wake(at: client == nil ? asked.until : min(asked.due, asked.until))
            }
        }
    }

    private func lateError(_ asked: Waiting) -> AppError {
        if let last = lastError(asked) { return last }
        guard client != nil else { return away(asked, "the bus is away: \(problem)") }
        return away(
            asked, asked.refusal.map { "the bus refuses the write: \(ReasonCode.text($0))" }
                ?? "the agent has not answered")
    }

    /// Nil if the last try has no answer.
    private func lastError(_ asked: Waiting) -> AppError? {
        // The queue is full, or the app is too fast: the same write may be sent again.
        if case .refused = asked.last { return asked.last.map { away(asked, "\($0)") } }
        return asked.last
    }

    private func away(_ asked: Waiting, _ text: String) -> AppError {
        .unavailable(AppError.Unavailable(key: asked.write.key, text: text))
    }
}
