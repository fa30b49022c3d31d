import Dispatch
import LinuxIO
import Synchronization

/// The state that a pool and its threads share. The threads keep it alive until the pool is closed.
final class PoolCore: Sendable {
    private let address: PostgresAddress
    private let bounds: PostgresPool.Bounds
    private let limits: PostgresLimits
    private let state = Mutex(PoolState())

    init(_ address: PostgresAddress, _ bounds: PostgresPool.Bounds, _ limits: PostgresLimits) {
        self.address = address
        self.bounds = bounds
        self.limits = limits
    }

    var counts: PostgresPool.Counts {
        state.withLock { state in
            PostgresPool.Counts(
                open: state.open, busy: state.seats - state.idle.count, waiting: state.waiting,
                reconnects: state.reconnects, isAway: state.outage != nil)
        }
    }

    /// How a new call is served.
    private enum Reception {
        case given(PoolThread)
        case waits
        case newSeat
        case refused(PostgresError)
    }

    func add(_ job: PoolJob) {
        let reception = state.withLock { state -> Reception in
            if state.isClosed { return .refused(.closed) }
            if job.turn.isCancelled { return .refused(.cancelled) }
            if let seat = state.idle.popLast() { return .given(seat) }
            if state.seats < bounds.connections {
                state.seats += 1
                return .newSeat
            }
            guard state.waiting < bounds.waiting else { return .refused(.overloaded) }
            state.append(job)
            return .waits
        }
        switch reception {
        case .waits: return
        case .given(let seat):
            // Signal after releasing the lock, because the woken thread takes it next.
            seat.job.withLock { $0 = job }
            seat.bell.signal()
        case .newSeat: startSeat(job)
        case .refused(let error): job.fail(error)
        }
    }

    func cancel(_ turn: PoolTurn) {
        turn.cancel()
        state.withLock { $0.remove(turn) }?.fail(.cancelled)
    }

    func close() {
        let (jobs, seats) = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return (state.removeAll(), state.idle)
        }
        for job in jobs { job.fail(.closed) }
        for seat in seats { seat.bell.signal() }
    }

    private func startSeat(_ job: PoolJob) {
        let seat = PoolThread()
        seat.job.withLock { $0 = job }
        do throws(SystemError) {
            try WorkerThread(name: "database") { [self] in serve(seat) }.detach()
        } catch {
            state.withLock { $0.seats -= 1 }
            job.fail(PostgresError(error))
        }
    }

    /// The loop of one thread: one connection at a time, one call after another.
    ///
    /// It must not keep a finished call. The call may hold the last reference to the pool's owner,
    /// whose end closes the pool.
    private func serve(_ seat: PoolThread) {
        var connection: PostgresConnection?
        var job = seat.job.withLock { $0.take() }
        while job != nil {
            performTaken(&job, &connection)
            job = next(seat)
        }
        drop(&connection)
    }

    private func performTaken(_ job: inout PoolJob?, _ connection: inout PostgresConnection?) {
        guard let taken = job.take() else { return }
        perform(taken, &connection)
    }

    /// Waits for the next call; nil once the pool is closed.
    private func next(_ seat: PoolThread) -> PoolJob? {
        let (job, isOver) = state.withLock { state -> (PoolJob?, Bool) in
            if let job = state.popFirst() { return (job, false) }
            if !state.isClosed { state.idle.append(seat) }
            return (nil, state.isClosed)
        }
        if job != nil || isOver { return job }
        seat.bell.wait()
        return seat.job.withLock { $0.take() }
    }

    private func perform(_ job: PoolJob, _ connection: inout PostgresConnection?) {
        guard job.asked.duration(to: .now) < bounds.turn else { return job.fail(.overloaded) }
        // A server that restarted has closed the connection, or closes it soon.
        if let held = connection, !held.isAlive { drop(&connection) }
        if connection == nil {
            switch connect(for: job) {
            case .success(let opened): connection = opened
            case .failure(let error): return job.fail(error)
            }
        }
        guard let held = connection else { return job.fail(.closed) }
        job.run(held)
        if !held.isUsable { drop(&connection) }
    }

    private func drop(_ connection: inout PostgresConnection?) {
        guard connection != nil else { return }
        connection = nil
        state.withLock { $0.didLose() }
    }

    /// Opens a new connection, within the patience of the call that needs it.
    private func connect(
        for job: PoolJob
    ) -> Result<PostgresConnection, PostgresError> {
        let end = job.asked + bounds.patience
        while true {
            switch permission(until: end, job.turn) {
            case .go: break
            case .wait(let pause):
                let length = DispatchTimeInterval.milliseconds(Int(pause.wholeMilliseconds))
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + length)
                continue
            case .never(let error): return .failure(error)
            }
            do throws(PostgresError) {
                let connection = try PostgresConnection(address, limits: limits)
                state.withLock { state in
                    state.outage = nil
                    state.didOpen()
                }
                return .success(connection)
            } catch {
                note(error)
                if case .address = error { return .failure(error) }
            }
        }
    }

    private enum Permission {
        case go
        case wait(Duration)
        case never(PostgresError)
    }

    /// Whether to try now. Other threads may be trying too.
    private func permission(until end: ContinuousClock.Instant, _ turn: PoolTurn) -> Permission {
        state.withLock { state in
            if state.isClosed { return .never(.closed) }
            if turn.isCancelled { return .never(.cancelled) }
            guard var outage = state.outage else { return .go }
            let now = ContinuousClock.now
            let isMine = outage.claim(at: now, for: limits.connect)
            state.outage = outage
            if isMine { return .go }
            // No other thread can succeed before `end`.
            guard now < end, outage.nextTry < end || outage.isBeingTried else {
                return .never(outage.error)
            }
            // Waits in short steps, because another thread may connect at any time.
            return .wait(min(.milliseconds(20), end - now))
        }
    }

    private func note(_ error: PostgresError) {
        let now = ContinuousClock.now
        let chance = Double.random(in: 0...1)
        state.withLock { state in
            if state.outage == nil { state.outage = Outage(error, at: now, chance: chance) }
            else { state.outage?.fail(error, at: now, chance: chance) }
        }
    }
}
