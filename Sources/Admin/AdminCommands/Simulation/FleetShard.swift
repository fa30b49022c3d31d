import LinuxIO
import MQTT
import Sessions
import Wire

/// A part of a simulated fleet: its boards and their connections, owned by one thread that
/// blocks in one place.
final class FleetShard {
    let plan: FleetPlan
    let post: FleetPost
    let book: TelemetryBook
    var boards: [FleetBoard]
    var lines: [FleetLine] = []
    /// Of each board, its line.
    var lineOf: [Int] = []
    private var places: [InstallationID: Int] = [:]
    private var queue: ReadinessQueue
    private var dues = DueQueue()
    /// Of each board and then each line, when it stands in `dues`.
    private var scheduled: [Duration?]
    private var dirty: [Int] = []
    var pairing = FleetTally()
    var tally = FleetTally()
    var random: SeededRandom
    var isWorking = false
    private var hasBegun = false
    private var isClosed = false
    private var stormAt: Duration?
    private var isPaired: [Bool]
    private var paired = 0
    private var shownAt = Duration.zero

    /// How often it tells how it stands.
    private static let pace = Duration.milliseconds(200)
    private static let eventToken = UInt64.max

    init(
        _ plan: FleetPlan, boards: [FleetBoard], connections: Int, seed: UInt64,
        post: FleetPost, book: TelemetryBook
    ) throws(SystemError) {
        self.plan = plan
        self.boards = boards
        self.post = post
        self.book = book
        random = SeededRandom(seed: seed)
        queue = try ReadinessQueue()
        scheduled = Array(repeating: nil, count: boards.count + connections)
        isPaired = Array(repeating: false, count: boards.count)
        for (place, board) in boards.enumerated() { places[board.base.installation] = place }
        for number in 0..<connections {
            let range = boards.count * number / connections
                ..< boards.count * (number + 1) / connections
            let id = plan.isOneEach
                ? "postern-\(boards[range.lowerBound].base.installation)"
                : "postern-simulate-\(random.next())"
            lines.append(FleetLine(boards: Array(range), clientID: id))
            lineOf += Array(repeating: number, count: range.count)
        }
        try queue.watch(post.event.descriptor, token: Self.eventToken, read: true, write: false)
    }

    /// Runs until it is told to close, and says what came of it.
    func run() {
        while !isClosed {
            for order in post.takeOrders() { take(order) }
            let moment = self.moment
            storm(at: moment)
            runDue(at: moment)
            flush()
            show(at: moment.now)
            wait()
        }
        show(at: nil)
        judge()
        closeLines()
        if !hasBegun { (pairing, tally) = (tally, FleetTally()) }
        post.result = FleetResult(pairing: pairing, load: tally, standing: post.standing)
    }

    var moment: FleetBoard.Moment {
        FleetBoard.Moment(now: SystemClock.monotonic, wall: plan.wall())
    }

    private func take(_ order: FleetOrder) {
        switch order {
        case .claimed(let place): claimed(place)
        case .begin: begin()
        case .wind:
            isWorking = false
            for place in boards.indices { boards[place].wind() }
            hasten()
        case .close: isClosed = true
        }
    }

    private func begin() {
        (isWorking, hasBegun) = (true, true)
        (pairing, tally) = (tally, FleetTally())
        let moment = self.moment
        stormAt = plan.faults.storm.map { moment.now + $0.every.duration }
        for place in boards.indices {
            boards[place].begin(plan, at: moment)
            if boards[place].phase == .alive, random.happens(plan.faults.skew) {
                let hours = Duration.seconds(600) + random.within(.seconds(86_400))
                boards[place].clockOffset = random.happens(0.5) ? hours : .zero - hours
                boards[place].isClockWrong = true
                tally.clocks.injected += 1
            }
            schedule(board: place)
        }
    }

    /// The one place that blocks; then each connection that is ready is read.
    private func wait() {
        let now = SystemClock.monotonic
        let left = min(dues.next.map { $0 - now } ?? Self.pace, Self.pace)
        do throws(SystemError) {
            try queue.wait(max(.zero, left))
        } catch {
            tally.errors.note(.broker(layer: "TCP", text: "\(error)"))
        }
        for token in queue.ready where token != Self.eventToken {
            guard let number = Int(exactly: token), lines.indices.contains(number) else {
                continue
            }
            listen(number)
        }
    }

    /// What the end shows: sessions that are gone, thefts that nobody found, silence.
    private func judge() {
        guard hasBegun else { return }
        for board in boards {
            if let thief = board.thief, thief.hasStruck, !thief.isFound {
                tally.violations.note(.contract("a theft was not found"))
            } else if board.phase == .over, board.ending == .untold {
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
        var standing = FleetStanding()
        standing.paired = paired
        for board in boards {
            if board.isReachable { standing.reachable += 1 }
            if board.phase == .alive { standing.alive += 1 }
            if board.phase == .alive, !board.isReachable { standing.stranded += 1 }
            if board.phase == .over { standing.over += 1 }
            if !board.isSettled { standing.unsettled += 1 }
            if board.isPutOff { standing.putOff += 1 }
        }
        standing.answers = tally.heartbeats.answered + tally.refreshes.answered
        standing.errors = pairing.errors.count + tally.errors.count
        standing.violations = pairing.violations.count + tally.violations.count
        post.standing = standing
    }
}

// What is due.
extension FleetShard {
    private func runDue(at moment: FleetBoard.Moment) {
        while let entry = dues.take(at: moment.now) {
            guard scheduled[entry.token] == entry.time else { continue }
            scheduled[entry.token] = nil
            if entry.token < boards.count {
                wake(board: entry.token, at: moment)
            } else {
                wake(line: entry.token - boards.count, at: moment)
            }
        }
    }

    func schedule(board place: Int) { schedule(place, at: boards[place].due) }

    func schedule(line number: Int, at time: Duration?) {
        schedule(boards.count + number, at: time)
    }

    private func schedule(_ token: Int, at time: Duration?) {
        guard let time, scheduled[token].map({ time < $0 }) ?? true else { return }
        scheduled[token] = time
        dues.add(token, at: time)
    }

    private func wake(board place: Int, at moment: FleetBoard.Moment) {
        if let interval = plan.telemetry {
            while let number = boards[place].records.make(every: interval, at: moment) {
                book.make(number, by: boards[place].base.installation)
            }
        }
        do throws(SimulationFault) {
            try boards[place].wake(plan, at: moment, &tally)
        } catch {
            tally.violations.note(error)
        }
        settle(place, at: moment)
    }

    /// After anything that happened to a board: what it says goes out.
    func settle(_ place: Int, at moment: FleetBoard.Moment) {
        let line = lines[lineOf[place]]
        passOn(thiefOf: place, at: moment)
        if boards[place].isReachable {
            let outbox = boards[place].base.outbox
            for payload in boards[place].outgoing {
                line.add(OutgoingMessage(topic: outbox, payload: payload), .sealed)
            }
            boards[place].outgoing.removeAll()
            while let record = boards[place].records.take(at: moment.now) {
                line.add(
                    boards[place].message(record, plan),
                    .telemetry(board: place, sequence: record.sequence))
            }
            mark(lineOf[place])
        }
        if !isPaired[place], boards[place].isPaired, let session = boards[place].session {
            isPaired[place] = true
            paired += 1
            book.enter(boards[place].base.installation, session)
        }
        schedule(board: place)
    }

    /// A thief whose board's session ended before it struck takes another.
    func passOn(thiefOf place: Int, at moment: FleetBoard.Moment) {
        guard isWorking, boards[place].phase == .over, let thief = boards[place].thief,
            !thief.hasStruck
        else { return }
        let others = boards.indices.filter { boards[$0].mayBeRobbed }
        guard let chosen = random.pick(1, below: others.count).first else { return }
        boards[place].thief = nil
        boards[others[chosen]].thief = FleetThief(
            strikeAt: max(thief.strikeAt, moment.now + .seconds(1)))
        schedule(board: others[chosen])
    }

    /// The board that a topic is the inbox of.
    func place(of topic: String, on line: FleetLine) -> Int? {
        if line.boards.count == 1, let only = line.boards.first {
            return boards[only].base.inbox == topic ? only : nil
        }
        guard case .inbox(let board)? = ContractTopic(topic, under: plan.root) else { return nil }
        return places[board]
    }

    func mark(_ number: Int) {
        guard !lines[number].isDirty else { return }
        lines[number].isDirty = true
        dirty.append(number)
    }

    private func flush() {
        while let number = dirty.popLast() {
            lines[number].isDirty = false
            write(number)
        }
    }

    private func storm(at moment: FleetBoard.Moment) {
        guard isWorking, let storm = plan.faults.storm, let due = stormAt, due <= moment.now
        else { return }
        stormAt = due + storm.every.duration
        tally.storms += 1
        for number in lines.indices where lines[number].phase == .open {
            guard random.happens(storm.share) else { continue }
            tally.cuts += 1
            ended(number, nil)
        }
    }

    /// Tells the readiness queue what a line waits for.
    func watch(_ number: Int) {
        let line = lines[number]
        guard let descriptor = line.connection?.descriptor,
            let interest = line.connection?.interest
        else {
            line.watched = nil
            return
        }
        if let known = line.watched, known == (descriptor, interest.read, interest.write) {
            return
        }
        do throws(SystemError) {
            try queue.watch(
                descriptor, token: UInt64(number), read: interest.read, write: interest.write)
            line.watched = (descriptor, interest.read, interest.write)
        } catch {
            tally.errors.note(.broker(layer: "TCP", text: "\(error)"))
        }
    }
}
