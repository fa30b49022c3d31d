import LinuxIO
import MQTT
import Sessions
import Synchronization
import Wire

/// A simulated fleet from its first claim to its summary.
final class FleetRun: Sendable {
    private let plan: FleetPlan
    private let claims: Int
    private let reader: TelemetryReader?
    private let book: TelemetryBook
    private let pairing: FleetPairing
    private let progress: FleetProgress
    private let boards: [[FleetBoard]]
    private let posts: [FleetPost]
    private let isStopped = Mutex(false)

    private static let glance = Duration.milliseconds(100)

    init(
        _ plan: FleetPlan, claims: Int, pairing: FleetPairing, book: TelemetryBook,
        reader: TelemetryReader?, in surroundings: Surroundings
    ) throws(CommandFailure) {
        self.plan = plan
        self.claims = claims
        self.pairing = pairing
        self.book = book
        self.reader = reader
        progress = FleetProgress(surroundings)
        var random = SeededRandom(seed: plan.seed)
        let robbed = Set(random.pick(plan.faults.thieves, below: plan.boards))
        var parts: [[FleetBoard]] = []
        var posts: [FleetPost] = []
        do {
            for number in 0..<plan.threads {
                var part: [FleetBoard] = []
                for place in Self.part(number, of: plan.boards, plan.threads) {
                    var board = try FleetBoard(under: plan.root, seed: random.next())
                    if robbed.contains(place) { board.thief = FleetThief(strikeAt: .zero) }
                    part.append(board)
                }
                parts.append(part)
                posts.append(try FleetPost())
            }
        } catch {
            throw .failed(layer: "system", text: "\(error)")
        }
        boards = parts
        self.posts = posts
    }

    private static func part(_ number: Int, of count: Int, _ parts: Int) -> Range<Int> {
        count * number / parts ..< count * (number + 1) / parts
    }

    /// Ends the phase under way, and all that follow but the summary.
    func stop() {
        isStopped.withLock { $0 = true }
        pairing.stop()
    }

    func run() async throws(CommandFailure) -> FleetReport {
        var threads: [WorkerThread] = []
        do throws(SystemError) {
            threads = try startShards()
        } catch {
            throw .failed(layer: "system", text: "\(error)")
        }
        var report = FleetReport(plan: plan, begun: plan.wall())
        var failure: CommandFailure?
        do throws(CommandFailure) {
            try await pair(&report)
            try await load(&report)
        } catch {
            failure = error
        }
        for post in posts { post.give(.close) }
        reader?.end()
        let ended = threads
        await Self.join(ended)
        if let failure { throw failure }
        for result in posts.compactMap(\.result) {
            report.pairing.merge(result.pairing)
            report.load.merge(result.load)
            report.standing = report.standing + result.standing
        }
        report.pairing.errors.merge(pairing.errors)
        if let reader { report.load.errors.merge(reader.errors) }
        report.claims = pairing.times
        report.telemetry = book.count
        return report
    }

    private func startShards() throws(SystemError) -> [WorkerThread] {
        var threads: [WorkerThread] = []
        for number in 0..<plan.threads {
            let (plan, post, book, part) = (self.plan, posts[number], self.book, boards[number])
            let connections = Self.part(number, of: plan.connections, plan.threads).count
            threads.append(try WorkerThread(name: "fleet \(number)") {
                do throws(SystemError) {
                    let shard = try FleetShard(
                        plan, boards: part, connections: connections,
                        seed: plan.seed &+ UInt64(number) &+ 1, post: post, book: book)
                    shard.run()
                } catch {
                    var result = FleetResult()
                    result.load.violations.note(.broker(layer: "system", text: "\(error)"))
                    post.result = result
                }
            })
        }
        return threads
    }

    private static func join(_ threads: [WorkerThread]) async {
        await withCheckedContinuation { waiting in
            let joiner = try? WorkerThread(name: "joiner") {
                for thread in threads { thread.join() }
                waiting.resume()
            }
            if let joiner { joiner.detach() } else { waiting.resume() }
        }
    }

    private var standing: FleetStanding {
        posts.map(\.standing).reduce(FleetStanding(), +)
    }

    private func glance() async {
        do {
            try await Task.sleep(for: Self.glance)
        } catch {
            stop()
        }
    }

    private var mustStop: Bool { isStopped.withLock { $0 } }
}

// The phases.
extension FleetRun {
    private func pair(_ report: inout FleetReport) async throws(CommandFailure) {
        let begun = SystemClock.monotonic
        let (used, posts, boards) = (ProcessRoom.processorTime, self.posts, self.boards)
        // Neighbours go to different threads.
        let places = boards.enumerated().flatMap { part, list in
            list.indices.map { (part: part, place: $0) }
        }.sorted { ($0.place, $0.part) < ($1.place, $1.part) }
        let claiming = Task { () -> CommandFailure? in
            do throws(CommandFailure) {
                try await self.pairing.claim(
                    self.plan.boards, atOnce: self.claims,
                    paired: { posts.reduce(0) { $0 + $1.standing.paired } },
                    url: { boards[places[$0].part][places[$0].place].base.claimURL },
                    done: { posts[places[$0].part].give(.claimed(places[$0].place)) })
                return nil
            } catch {
                return error
            }
        }
        await awaitPairs(since: begun)
        if let failure = await claiming.value { throw failure }
        let paired = standing.paired
        report.pairingSeconds = (SystemClock.monotonic - begun) / .seconds(1)
        report.pairingProcessor = (ProcessRoom.processorTime - used) / .seconds(1)
        progress.finish(
            paired == plan.boards, "\(paired) of \(plan.boards) boards hold their sessions")
        guard paired > 0 else {
            throw .offline(layer: "authority", text: "no board got a session")
        }
    }

    private func awaitPairs(since begun: Duration) async {
        var patience = PairingPatience(since: begun)
        while !mustStop {
            let now = SystemClock.monotonic
            let standing = self.standing
            let paired = standing.paired
            if paired == plan.boards { return }
            guard !patience.isOver(
                paired: paired, claimed: pairing.claimed, putOff: standing.putOff, at: now)
            else { return pairing.stop() }
            let rate = Double(paired) / max(0.001, (now - begun) / .seconds(1))
            let left = rate > 0 ? Int64(Double(plan.boards - paired) / rate) : 0
            progress.show(
                "pairing", Double(paired) / Double(plan.boards),
                "\(paired) of \(plan.boards), \(Int(rate)) a second, "
                    + "\(rate > 0 ? TimeText.span(left) : "?") to go")
            await glance()
        }
    }

    private func load(_ report: inout FleetReport) async throws(CommandFailure) {
        guard !mustStop else { return }
        var reading: WorkerThread?
        if let reader {
            do throws(SystemError) {
                reading = try reader.start()
            } catch {
                throw .failed(layer: "system", text: "\(error)")
            }
            await until(.seconds(30)) { reader.isReady }
            guard reader.isReady else {
                throw .offline(layer: "broker", text: "the telemetry cannot be read back")
            }
        }
        let (begun, used) = (SystemClock.monotonic, ProcessRoom.processorTime)
        for post in posts { post.give(.begin) }
        await follow(since: begun)
        report.seconds = (SystemClock.monotonic - begun) / .seconds(1)
        report.processor = (ProcessRoom.processorTime - used) / .seconds(1)
        for post in posts { post.give(.wind) }
        // The last order is obeyed before the standing that follows it.
        await glance()
        await glance()
        await until(plan.patience * 6 + plan.spread * 2) {
            self.standing.isAtRest && self.book.count.missing == 0
        }
        reading?.detach()
        progress.finish(true, "\(standing.answers) answers in \(Int(report.seconds)) s")
    }

    private func follow(since begun: Duration) async {
        var (last, at) = (standing.answers, begun)
        while !mustStop, SystemClock.monotonic < begun + plan.span {
            await glance()
            let (now, standing) = (SystemClock.monotonic, self.standing)
            guard now - at > .seconds(1) else { continue }
            let rate = Double(standing.answers - last) / ((now - at) / .seconds(1))
            (last, at) = (standing.answers, now)
            progress.show(
                "running", (now - begun) / plan.span,
                "\(standing.reachable) connected, \(standing.over) revoked, "
                    + "\(max(0, Int(rate))) answers a second, \(standing.errors) errors, "
                    + "\(standing.violations) wrong")
        }
    }

    /// Also where the load was ended early: what is on its way is not lost by that.
    private func until(_ patience: Duration, _ isDone: () -> Bool) async {
        let end = SystemClock.monotonic + patience
        while SystemClock.monotonic < end, !isDone() {
            do { try await Task.sleep(for: Self.glance) } catch { return }
        }
    }
}

/// When the boards that have no session yet are given up: where for so long none was claimed, none
/// got its session, and none was told to come later.
struct PairingPatience {
    static let span = Duration.seconds(60)

    private var (paired, claimed) = (0, 0)
    private var changed: Duration

    init(since begun: Duration) { changed = begun }

    mutating func isOver(paired: Int, claimed: Int, putOff: Int, at now: Duration) -> Bool {
        if paired > self.paired || claimed > self.claimed || putOff > 0 { changed = now }
        (self.paired, self.claimed) = (paired, claimed)
        return now - changed > Self.span
    }
}
