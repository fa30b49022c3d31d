import LinuxIO
import Sessions
import Synchronization

/// Shows the progress of a fleet.
package protocol FleetWatcher: Sendable {
    /// - Parameter share: from 0 to 1.
    func show(_ phase: String, _ share: Double, _ text: String)
    /// A phase has ended.
    func finish(_ isDone: Bool, _ text: String)
}

/// A simulated fleet. Call `pair` first, then `live` once or several times, then `close`.
package final class FleetRun: Sendable {
    private let plan: FleetPlan
    private let claims: Int
    private let pairing: FleetPairing
    private let reader: TelemetryReader?
    private let book: TelemetryRecord
    private let watcher: any FleetWatcher
    private let claimURLs: [String]
    private let posts: [FleetMailbox]
    private let threads: [WorkerThread]
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        var pairingSeconds = 0.0
        var pairingProcessor = 0.0
        var reading: WorkerThread?
    }

    private static let pause = Duration.milliseconds(100)

    /// Makes the boards and starts their threads. `ask` claims a board by its URL. `claims` is the
    /// number of claims at the same time. `reader` reads the telemetry back.
    package init(
        _ plan: FleetPlan, claims: Int, reader: TelemetryReader?, book: TelemetryRecord,
        watcher: any FleetWatcher,
        ask: @escaping @Sendable (_ url: String, _ isFirst: Bool) async -> ClaimAnswer
    ) throws(FleetFailure) {
        self.plan = plan
        self.claims = claims
        self.book = book
        self.reader = reader
        self.watcher = watcher
        pairing = FleetPairing(ask)
        var random = SeededRandom(seed: plan.seed)
        let robbed = Set(random.pick(plan.faults.thieves, below: plan.boards))
        let now = Instant(wall: plan.wall(), monotonic: SystemClock.monotonic)
        var parts = Array(repeating: [FleetBoard](), count: plan.threads)
        var urls: [String] = []
        var posts: [FleetMailbox] = []
        var threads: [WorkerThread] = []
        do {
            // Boards with neighbouring places go to different threads.
            for place in 0..<plan.boards {
                var board = try FleetBoard(plan, book: book, at: now)
                if robbed.contains(place) { board.thief = FleetThief() }
                urls.append(board.claimURL)
                parts[place % plan.threads].append(board)
            }
            for (number, boards) in parts.enumerated() {
                let post = try FleetMailbox()
                let seed = plan.seed &+ UInt64(number) &+ 1
                posts.append(post)
                threads.append(try WorkerThread(name: "fleet \(number)") {
                    do throws(SystemError) {
                        try FleetShard(plan, boards: boards, seed: seed, post: post).run()
                    } catch {
                        post.fault = error
                    }
                })
            }
        } catch {
            throw .system("\(error)")
        }
        claimURLs = urls
        self.posts = posts
        self.threads = threads
    }

    /// Ends the current phase and all that follow.
    package func stop() {
        state.withLock { $0.isStopped = true }
        pairing.stop()
    }

    /// Lets the boards report that they are down, and ends their threads.
    package func close() async {
        for post in posts { post.give(.close) }
        reader?.end()
        let threads = self.threads + [state.withLock { $0.reading }].compactMap(\.self)
        await withCheckedContinuation { waiting in
            let joiner = try? WorkerThread(name: "joiner") {
                for thread in threads { thread.join() }
                waiting.resume()
            }
            if let joiner { joiner.detach() } else { waiting.resume() }
        }
    }

    private var standing: FleetState {
        posts.map(\.standing).reduce(FleetState(), +)
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func rest() async {
        do {
            try await Task.sleep(for: Self.pause)
        } catch {
            stop()
        }
    }
}

// Pairing.
extension FleetRun {
    package func pair() async throws(FleetFailure) {
        let begun = SystemClock.monotonic
        let (used, posts, urls) = (ProcessLimits.processorTime, self.posts, claimURLs)
        let claiming = Task { () -> FleetFailure? in
            do throws(FleetFailure) {
                try await self.pairing.claim(
                    urls.count, atOnce: self.claims,
                    paired: { posts.reduce(0) { $0 + $1.standing.paired } },
                    url: { urls[$0] },
                    done: { posts[$0 % posts.count].give(.claimed($0 / posts.count)) })
                return nil
            } catch {
                return error
            }
        }
        await awaitPairs(since: begun)
        if let failure = await claiming.value { throw failure }
        if let fault = posts.compactMap(\.fault).first { throw .system("\(fault)") }
        let paired = standing.paired
        state.withLock { state in
            state.pairingSeconds = (SystemClock.monotonic - begun) / .seconds(1)
            state.pairingProcessor = (ProcessLimits.processorTime - used) / .seconds(1)
        }
        watcher.finish(
            paired == plan.boards, "\(paired) of \(plan.boards) boards hold their sessions")
        guard paired > 0 else {
            throw .offline(layer: "authority", text: "no board got a session")
        }
    }

    private func awaitPairs(since begun: Duration) async {
        var patience = PairingPatience(since: begun)
        while !pairing.isStopped {
            let now = SystemClock.monotonic
            let standing = self.standing
            let paired = standing.paired
            if paired == plan.boards || posts.contains(where: { $0.fault != nil }) { return }
            guard !patience.isOver(
                paired: paired, claimed: pairing.claimed, putOff: standing.putOff, at: now)
            else { return pairing.stop() }
            let rate = Double(paired) / max(0.001, (now - begun) / .seconds(1))
            let left = rate > 0 ? "\(Int(Double(plan.boards - paired) / rate))" : "?"
            watcher.show(
                "pairing", Double(paired) / Double(plan.boards),
                "\(paired) of \(plan.boards), \(Int(rate)) a second, \(left) s left")
            await rest()
        }
    }
}

// Load.
extension FleetRun {
    /// Runs the boards under load for a span, then waits until nothing is open.
    package func live(_ load: FleetLoad) async throws(FleetFailure) -> FleetReport {
        try await startReading()
        let (begun, used) = (SystemClock.monotonic, ProcessLimits.processorTime)
        var report = FleetReport(plan: plan, begun: plan.wall())
        for post in posts { post.give(.begin(load)) }
        await follow(load.span, since: begun)
        report.seconds = (SystemClock.monotonic - begun) / .seconds(1)
        report.processor = (ProcessLimits.processorTime - used) / .seconds(1)
        for post in posts { post.give(.wind) }
        // The threads take the last order before they publish their next standing.
        await restAnyhow()
        await restAnyhow()
        await restUntil(.seconds(120) + plan.spread * 3) {
            self.standing.isAtRest && self.book.count.missing == 0
        }
        watcher.finish(true, "\(standing.answers) answers in \(Int(report.seconds)) s")
        return await sumUp(report)
    }

    private func sumUp(_ begun: FleetReport) async -> FleetReport {
        var report = begun
        for post in posts { post.give(.sumUp) }
        for post in posts {
            while true {
                if let result = post.result {
                    report.pairing.merge(result.pairing)
                    report.load.merge(result.load)
                    report.standing = report.standing + result.standing
                    break
                }
                await restAnyhow()
            }
            post.result = nil
        }
        state.withLock { state in
            report.pairingSeconds = state.pairingSeconds
            report.pairingProcessor = state.pairingProcessor
        }
        report.pairing.errors.merge(pairing.errors)
        if let reader { report.load.errors.merge(reader.errors) }
        report.claims = pairing.times
        report.telemetry = book.count
        return report
    }

    private func startReading() async throws(FleetFailure) {
        guard let reader, state.withLock({ $0.reading }) == nil else { return }
        do throws(SystemError) {
            let reading = try reader.start()
            state.withLock { $0.reading = reading }
        } catch {
            throw .system("\(error)")
        }
        await restUntil(.seconds(30)) { reader.isReady }
        guard reader.isReady else {
            throw .offline(layer: "broker", text: "the telemetry cannot be read back")
        }
    }

    private func follow(_ span: Duration, since begun: Duration) async {
        var (last, at) = (0, begun)
        while !isStopped, SystemClock.monotonic < begun + span {
            await rest()
            let (now, standing) = (SystemClock.monotonic, self.standing)
            guard now - at > .seconds(1) else { continue }
            let rate = Double(standing.answers - last) / ((now - at) / .seconds(1))
            (last, at) = (standing.answers, now)
            watcher.show(
                "running", (now - begun) / span,
                "\(standing.connected) connected, \(standing.over) revoked, "
                    + "\(max(0, Int(rate))) answers a second, \(standing.errors) errors, "
                    + "\(standing.violations) violations")
        }
    }

    /// Waits also after a stopped load, so that open requests are not lost.
    private func restUntil(_ patience: Duration, _ isDone: () -> Bool) async {
        let end = SystemClock.monotonic + patience
        while SystemClock.monotonic < end, !isDone() { await restAnyhow() }
    }

    private func restAnyhow() async {
        await Task { try? await Task.sleep(for: Self.pause) }.value
    }
}
