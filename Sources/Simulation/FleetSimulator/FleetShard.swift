import AgentCore
import LinuxIO
import MQTT
import Sessions
import Wire

/// One shard of a simulated fleet: its boards and their connections. One thread owns it and blocks
/// in one place only.
final class FleetShard {
    let plan: FleetPlan
    private let post: FleetMailbox
    var boards: [FleetBoard]
    var uplinks: [FleetUplink]
    var queue: ReadinessQueue
    private var dues = DueQueue()
    /// For each board, its time in `dues`.
    private var scheduled: [Duration?]
    private var dirty: [Int] = []
    private var pairing = FleetTally()
    var tally = FleetTally()
    var random: SeededRandom
    private(set) var load: FleetLoad?
    private var hasBegun = false
    private var isClosed = false
    private var stormAt: Duration?
    private var isPaired: [Bool]
    /// The boards that make requests now. The fields below hold their number and the boards that
    /// wait for a turn.
    private var isBusy: [Bool]
    private var busy = 0
    private var turns: [Int] = []
    private var shownAt = Duration.zero

    /// The interval between two updates of the standing.
    private static let pace = Duration.milliseconds(200)
    private static let eventToken = UInt64.max

    init(
        _ plan: FleetPlan, boards: [FleetBoard], seed: UInt64, post: FleetMailbox
    ) throws(SystemError) {
        self.plan = plan
        self.boards = boards
        self.post = post
        random = SeededRandom(seed: seed)
        queue = try ReadinessQueue()
        uplinks = boards.map { _ in FleetUplink() }
        scheduled = Array(repeating: nil, count: boards.count)
        isPaired = Array(repeating: false, count: boards.count)
        isBusy = isPaired
        try queue.watch(post.event.descriptor, token: Self.eventToken, read: true, write: false)
    }

    /// Runs until the order to close.
    func run() {
        while !isClosed {
            for order in post.takeOrders() { take(order) }
            let moment = self.moment
            storm(at: moment)
            runDue(at: moment)
            takeTurns(at: moment)
            flush()
            show(at: moment.monotonic)
            wait()
        }
        for place in boards.indices where uplinks[place].phase == .open {
            boards[place].handle(.stop, at: moment, &tally)
            settle(place, at: moment)
        }
        flush()
    }

    var moment: Instant { Instant(wall: plan.wall(), monotonic: SystemClock.monotonic) }

    var isWorking: Bool { load != nil }

    private func take(_ order: FleetOrder) {
        switch order {
        case .claimed(let place):
            boards[place].start(at: moment, &tally)
            settle(place, at: moment)
        case .begin(let load): begin(load)
        case .wind:
            load = nil
            turns.removeAll()
            for place in boards.indices {
                boards[place].wind(at: moment)
                schedule(place, at: moment)
            }
        case .sumUp:
            judge()
            if !hasBegun { (pairing, tally) = (tally, FleetTally()) }
            show(at: nil)
            post.result = FleetResult(pairing: pairing, load: tally, standing: post.standing)
        case .close: isClosed = true
        }
    }

    private func begin(_ load: FleetLoad) {
        if !hasBegun { pairing = tally }
        (self.load, hasBegun, tally) = (load, true, FleetTally())
        let moment = self.moment
        stormAt = plan.faults.storm.map { moment.monotonic + $0.every }
        for place in boards.indices {
            if boards[place].hasSession, random.happens(plan.faults.skew) {
                let hours = Duration.seconds(600) + random.within(.seconds(86_400))
                let offset = random.happens(0.5) ? hours : .zero - hours
                tally.clocks.injected += 1
                boards[place].restart(clockOff: offset, at: moment, &tally)
            }
            boards[place].begin(load, &random, at: moment, &tally)
            settle(place, at: moment)
        }
    }

    /// Waits for the connections: the only place that blocks. Then reads each one that is ready.
    private func wait() {
        let now = SystemClock.monotonic
        let left = min(dues.next.map { $0 - now } ?? Self.pace, Self.pace)
        do throws(SystemError) {
            try queue.wait(max(.zero, left))
        } catch {
            tally.errors.note(.broker(layer: "TCP", text: "\(error)"))
        }
        for token in queue.ready where token != Self.eventToken { listen(Int(token)) }
    }

    /// Records the violations that only the end shows: lost sessions, undetected thefts, missing
    /// answers.
    private func judge() {
        guard hasBegun else { return }
        for board in boards {
            if let thief = board.thief, thief.hasStruck {
                if !thief.isFound { tally.violations.note(.contract("a theft was not found")) }
            } else if board.isOver, board.endReason == nil {
                tally.violations.note(.contract("a session was lost"))
            } else if !board.isSettled {
                tally.violations.note(.silence)
            }
        }
    }

    private func show(at now: Duration?) {
        if let now {
            guard now >= shownAt + Self.pace else { return }
            shownAt = now
        }
        var standing = FleetState()
        standing.paired = isPaired.count(where: \.self)
        // Access boards by place: a local variable would copy the board with its whole agent.
        for place in boards.indices {
            if boards[place].isConnected { standing.connected += 1 }
            if boards[place].hasSession { standing.alive += 1 }
            if boards[place].isStranded { standing.stranded += 1 }
            if boards[place].isOver { standing.over += 1 }
            if !boards[place].isSettled { standing.unsettled += 1 }
            if boards[place].isPutOff { standing.putOff += 1 }
        }
        standing.answers = tally.heartbeats.answered + tally.refreshes.answered
        standing.errors = pairing.errors.count + tally.errors.count
        standing.violations = pairing.violations.count + tally.violations.count
        post.standing = standing
    }
}

// Due work.
extension FleetShard {
    private func runDue(at moment: Instant) {
        while let entry = dues.take(at: moment.monotonic) {
            guard scheduled[entry.token] == entry.time else { continue }
            scheduled[entry.token] = nil
            look(at: entry.token, at: moment)
            wake(entry.token, at: moment)
        }
    }

    func schedule(_ place: Int, at moment: Instant) {
        let times = [boards[place].due(at: moment), uplinks[place].due(at: moment.monotonic)]
        guard let time = times.compactMap(\.self).min(),
            scheduled[place].map({ time < $0 }) ?? true
        else { return }
        scheduled[place] = time
        dues.add(place, at: time)
    }

    /// Wakes a board. If too many boards make requests, the board waits for its turn.
    private func wake(_ place: Int, at moment: Instant) {
        guard let due = boards[place].due(at: moment), due <= moment.monotonic else {
            return schedule(place, at: moment)
        }
        if let limit = load?.inFlight, !isBusy[place], boards[place].hasSession, busy >= limit {
            return turns.append(place)
        }
        boards[place].wake(at: moment, &tally)
        settle(place, at: moment)
    }

    private func takeTurns(at moment: Instant) {
        guard let limit = load?.inFlight else { return }
        var taken = 0
        while busy < limit, taken < turns.count {
            wake(turns[taken], at: moment)
            taken += 1
        }
        turns.removeFirst(taken)
    }

    /// Carries out a board's orders. Call it after each event of the board.
    func settle(_ place: Int, at moment: Instant) {
        let orders = boards[place].orders
        boards[place].orders.removeAll()
        for order in orders { perform(order, place) }
        if !isPaired[place], boards[place].isPaired { isPaired[place] = true }
        if isBusy[place] != boards[place].isBusy {
            isBusy[place].toggle()
            busy += isBusy[place] ? 1 : -1
        }
        mark(place)
        schedule(place, at: moment)
    }

    func mark(_ place: Int) {
        guard !uplinks[place].isDirty else { return }
        uplinks[place].isDirty = true
        dirty.append(place)
    }

    private func flush() {
        while let place = dirty.popLast() {
            uplinks[place].isDirty = false
            write(place)
        }
    }

    private func storm(at moment: Instant) {
        guard isWorking, let storm = plan.faults.storm, let due = stormAt,
            due <= moment.monotonic
        else { return }
        stormAt = due + storm.every
        tally.storms += 1
        for place in boards.indices where uplinks[place].phase == .open {
            guard random.happens(storm.share) else { continue }
            tally.cuts += 1
            ended(place, .tcp("cut on purpose"), isOnPurpose: true)
        }
    }
}
