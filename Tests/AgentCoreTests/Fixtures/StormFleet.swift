import AgentCore
import Sessions
import Wire

/// What goes away under a fleet, and for how long, in time since its start.
struct Outage: Sendable {
    var broker: Range<Duration>?
    /// While the broker is away, whether a try is refused at once or hangs for 30 s.
    var hangs = false
    var authority: Range<Duration>?
    /// While this lasts the authority answers every request that it is overloaded.
    var overload: Range<Duration>?
}

/// Boards side by side in virtual time, in ticks of a twentieth of a second.
struct StormFleet {
    enum Act: Int { case connect, heartbeat, refresh }

    private enum Event {
        case start, deadline, up, failed
        case reply([UInt8])
    }

    static let ticks = 20
    private var boards: [StormBoard] = []
    private var agenda: [[(board: Int, event: Event)]]
    /// How often each thing was done in each tick.
    private(set) var acts: [[Int]]
    private let outage: Outage
    private(set) var sessionsLost = 0
    /// The ids of refreshes that were answered, each counted.
    private(set) var rotations = 0

    /// Boards that come up one after another over the first three minutes, and live.
    init(
        _ count: Int, seed: UInt64, spread: Duration? = nil, for span: Duration, _ outage: Outage
    ) throws {
        let length = Self.tick(span)
        agenda = Array(repeating: [], count: length)
        acts = Array(repeating: Array(repeating: 0, count: length), count: 3)
        self.outage = outage
        let cryptography = PlainCryptography(seed: seed)
        for board in 0..<count {
            let age = Duration.seconds(400) * cryptography.share()
            boards.append(try StormBoard(cryptography, age: age, spread: spread))
            put(.start, of: board, at: Self.tick(.seconds(180) * cryptography.share()))
        }
    }

    private static func tick(_ time: Duration) -> Int {
        Int((time / .milliseconds(1000 / ticks)).rounded(.up))
    }

    private func isAway(_ span: Range<Duration>?, at tick: Int) -> Bool {
        span?.contains(.milliseconds(1000 / Self.ticks * tick)) ?? false
    }

    private mutating func put(_ event: Event, of board: Int, at tick: Int) {
        guard tick < agenda.count else { return }
        agenda[tick].append((board, event))
    }

    mutating func run() throws {
        let end = outage.broker.map { Self.tick($0.lowerBound) }
        for tick in agenda.indices {
            if tick == end { loseAll(at: tick) }
            // What is put in while the tick is worked at comes later: the next at the soonest.
            let items = agenda[tick]
            agenda[tick] = []
            for (board, event) in items { work(event, of: board, at: tick) }
        }
        sessionsLost = boards.filter {
            if case .available = $0.agent.sessionState(
                at: StormBoard.instant(.milliseconds(1000 / Self.ticks * agenda.count)))
            { false } else { true }
        }.count
    }

    private mutating func loseAll(at tick: Int) {
        for board in boards.indices where boards[board].isUp {
            boards[board].isUp = false
            hand(.uplink(.lost("closed")), to: board, at: tick)
        }
    }

    private mutating func work(_ event: Event, of board: Int, at tick: Int) {
        switch event {
        case .start: hand(.started, to: board, at: tick)
        case .deadline:
            guard boards[board].wakes == tick else { return }
            hand(.deadline, to: board, at: tick)
        case .up:
            guard !isAway(outage.broker, at: tick) else {
                return hand(.uplink(.lost("refused")), to: board, at: tick)
            }
            boards[board].isUp = true
            hand(.uplink(.connected), to: board, at: tick)
            hand(.uplink(.ready), to: board, at: tick)
        case .failed: hand(.uplink(.lost("no answer")), to: board, at: tick)
        case .reply(let payload):
            if boards[board].isUp { hand(.inbox(payload), to: board, at: tick) }
        }
    }

    private mutating func hand(_ event: AgentEvent, to board: Int, at tick: Int) {
        let time = Duration.milliseconds(1000 / Self.ticks * tick)
        let instant = StormBoard.instant(time)
        for effect in boards[board].agent.handle(event, at: instant) {
            switch effect {
            case .connectUplink: connect(board, at: tick)
            case .disconnectUplink, .abandonUplink: boards[board].isUp = false
            case .send(_, let payload): take(payload, of: board, at: tick)
            default: break
            }
        }
        let next = boards[board].agent.nextDeadline(at: instant) ?? .seconds(1_000_000)
        let wakes = max(tick + 1, Self.tick(next - .seconds(1000)))
        guard wakes != boards[board].wakes else { return }
        boards[board].wakes = wakes
        put(.deadline, of: board, at: wakes)
    }

    private mutating func connect(_ board: Int, at tick: Int) {
        acts[Act.connect.rawValue][tick] += 1
        let isAway = isAway(outage.broker, at: tick)
        if isAway, outage.hangs {
            put(.failed, of: board, at: tick + 30 * Self.ticks)
        } else {
            put(isAway ? .failed : .up, of: board, at: tick + 1)
        }
    }

    private mutating func take(_ payload: [UInt8], of board: Int, at tick: Int) {
        guard let envelope = try? SealedEnvelope(parsing: payload),
            let message = try? BoardMessage(parsing: envelope.ct)
        else { return }
        let isRefresh: Bool
        switch message.body {
        case .authenticate: isRefresh = false
        case .refresh: isRefresh = true
        default: return
        }
        acts[(isRefresh ? Act.refresh : .heartbeat).rawValue][tick] += 1
        guard boards[board].isUp, !isAway(outage.authority, at: tick) else { return }
        let time = Duration.milliseconds(1000 / Self.ticks * tick)
        let error = isAway(outage.overload, at: tick) ? Self.busy : nil
        if isRefresh, error == nil { rotations += 1 }
        put(.reply(boards[board].reply(
            to: message.id, isRefresh: isRefresh, at: time, error: error)),
            of: board, at: tick + 1)
    }

    private static var busy: Refusal {
        var refusal = Refusal(.rateLimit, "overloaded; ask again later")
        refusal.retryAfter = .seconds(30)
        return refusal
    }

    /// The most of one thing that was done within any second from `time` on.
    func peak(_ act: Act, from time: Duration) -> Int {
        let counts = acts[act.rawValue]
        var sum = 0
        var most = 0
        for tick in Self.tick(time)..<counts.count {
            sum += counts[tick]
            if tick >= Self.tick(time) + Self.ticks { sum -= counts[tick - Self.ticks] }
            most = max(most, sum)
        }
        return most
    }

    /// How many boards the broker has at the end.
    var up: Int { boards.count { $0.isUp } }
}
