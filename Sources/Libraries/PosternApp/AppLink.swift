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
        /// The last answer that asks for another try.
        var last: AppError?
        /// The code with which the bus refused it.
        var refusal: UInt8?
    }

    private static let firstPause = Duration.seconds(2)
    /// The longest pause between two tries of one write.
    private static let longestPause = Duration.seconds(60)
    /// The longest pause after an answer that asks for another try.
    private static let longestDelay = Duration.seconds(5)

    private let login: AppLogin
    private var client: BrokerClient?
    private var problem = "it has not answered"
    private var isClosed = false
    /// By the correlation data. Each has its own, because two writes at once may have one key.
    private var waiting: [String: Waiting] = [:]
    private var session: AppSession?
    private var readers: [AsyncStream<AppSession>.Continuation] = []
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

    /// Sends a write until it is answered. Throws `unavailable`, or what the agent last answered,
    /// after `limit`.
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

    /// Gives the session to a reader, now if it is known, and at each change.
    func add(_ reader: AsyncStream<AppSession>.Continuation) {
        guard !isClosed else { return reader.finish() }
        readers.append(reader)
        if let session { reader.yield(session) }
    }

    /// Ends the calls that wait, and the next ones at once.
    func close() {
        isClosed = true
        timer?.task.cancel()
        for (correlation, asked) in waiting {
            end(correlation, .failure(asked.last ?? away(asked, "the app was closed")))
        }
        for reader in readers { reader.finish() }
        readers = []
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
            wake(at: due)
        }
    }

    private func note(_ session: AppSession) {
        let isNew = session != self.session
        self.session = session
        if isNew {
            readers.removeAll { reader in
                if case .terminated = reader.yield(session) { true } else { false }
            }
        }
        guard session.isAvailable else { return }
        let now = ContinuousClock.now
        for (correlation, asked) in waiting where asked.last != nil { publish(correlation, now) }
    }
}

// The writes.
extension AppLink {
    private func begin(
        _ write: AppWrite, _ correlation: String, _ limit: Duration,
        _ caller: CheckedContinuation<Answer, Never>
    ) {
        let now = ContinuousClock.now
        let asked = Waiting(write: write, until: now + limit, caller: caller, due: now)
        guard !isClosed else {
            return caller.resume(returning: .failure(away(asked, "the app is closed")))
        }
        waiting[correlation] = asked
        wake(at: asked.until)
        publish(correlation, now)
    }

    /// Does nothing while the bus is away.
    private func publish(_ correlation: String, _ now: ContinuousClock.Instant) {
        guard let client, var asked = waiting[correlation] else { return }
        asked.due = now + asked.pause
        asked.pause = min(asked.pause * 2, Self.longestPause)
        waiting[correlation] = asked
        wake(at: asked.due)
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
        if let last = asked.last { return last }
        guard client != nil else { return away(asked, "the bus is away: \(problem)") }
        return away(
            asked, asked.refusal.map { "the bus refuses the write: \(ReasonCode.text($0))" }
                ?? "the agent has not answered")
    }

    private func away(_ asked: Waiting, _ text: String) -> AppError {
        .unavailable(AppError.Unavailable(key: asked.write.key, text: text))
    }
}
