import AgentCore
import Gate
import Sessions
import Wire

/// A machine with an agent on it: its disk, its clocks, its connection and its power.
struct SimulatedBoard: Sendable {
    /// What the machine's own clock says.
    enum Wall: Sendable {
        /// The true time and so much.
        case skewed(Duration)
        /// No battery: each start begins here.
        case startsAt(Timestamp)
    }

    static let start = Timestamp(milliseconds: 1_800_000_000_000)

    var disk: BoardDisk
    /// Nil while there is no power.
    var agent: Agent?
    var wall: Wall
    var bootedAt = Duration.zero
    /// The connection as this side sees it, and when the attempt is given up.
    var link: Int?
    var linkDeadline: Duration?
    /// What the last `pair` showed.
    var url: ClaimURL?
    /// When it has sent something to the authority.
    var sent: [Duration] = []
    var writeCount = 0
    var packetCount = 0
    /// Whether the app got no answer to its last write, because power failed.
    var lacksAnswer = false

    var installation: InstallationID { disk.identity.installation }

    func instant(at now: Duration) -> Instant {
        let since = now - bootedAt
        let time = switch wall {
        case .skewed(let skew): Self.start + now + skew
        case .startsAt(let start): start + since
        }
        return Instant(wall: time, monotonic: .seconds(10) + since)
    }

    /// The world's time at which the agent or the connection wants to be woken.
    func wakesAt(_ now: Duration) -> Duration? {
        guard let agent else { return nil }
        let instant = instant(at: now)
        let due = agent.nextDeadline(at: instant).map { now + max($0 - instant.monotonic, .zero) }
        return [due, linkDeadline.map { max($0, now) }].compactMap(\.self).min()
    }

    static var settings: AgentSettings {
        var settings = AgentSettings(
            name: "greenhouse", topicRoot: .standard, claimBase: ClaimURL.defaultBase,
            claimLifetime: .seconds(86_400), offline: nil, routes: RouteTable(),
            queueLimit: 100_000, queueReserve: 1000, version: "1.0",
            buildDate: Timestamp(milliseconds: 1_700_000_000_000), processID: 42)
        // One board is no fleet.
        settings.spread = .zero
        return settings
    }
}

extension AgentEffect {
    var label: String {
        switch self {
        case .commit(let changes): "commit " + changes.map(\.label).joined(separator: ", ")
        case .publishBus(let publication): "bus \(publication.topic)"
        case .publishCommand(_, let publication): "command \(publication.topic)"
        case .connectUplink: "connect"
        case .disconnectUplink: "disconnect"
        case .abandonUplink: "abandon"
        case .subscribeInbox: "subscribe"
        case .send: "send"
        case .askToJoin: "ask"
        case .publishStatus: "status"
        case .forward: "forward"
        case .grant: "grant"
        case .retryForwarding: "retry"
        case .readBus: "read"
        case .holdBus: "hold"
        case .readRoutes: "routes"
        case .answer: "answer"
        case .log: "log"
        case .restore: "restore"
        case .exit: "exit"
        }
    }

    /// Nobody can tell whether power failed before or after something that is only said to
    /// the board's own log or loop.
    var isFelt: Bool {
        switch self {
        case .log, .forward, .grant, .retryForwarding, .readBus, .holdBus, .readRoutes: false
        default: true
        }
    }
}

extension RecordChange {
    var label: String {
        switch self {
        case .claim(let claim): claim == nil ? "no claim" : "claim"
        case .trust: "trust"
        case .session(let held): held == nil ? "no session" : "session"
        case .join: "join"
        case .memory: "memory"
        case .commands: "commands"
        case .append: "append"
        case .clearWindow: "clear window"
        case .destroyQueue: "destroy queue"
        case .expire: "expire"
        case .lose: "lose"
        }
    }
}
