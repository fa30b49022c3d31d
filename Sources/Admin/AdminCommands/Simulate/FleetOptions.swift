import AgentCore
import ArgumentParser
import FleetSimulator
import LinuxIO
import MQTT
import Wire

extension FaultPlan: ExpressibleByArgument {}
extension TelemetryRate: ExpressibleByArgument {}

/// Command-line options for the simulated boards.
struct FleetOptions: ParsableArguments {
    @Option(help: ArgumentHelp(
        "Time between two heartbeats of a board. Without it, as the board's provisioning says.",
        valueName: "span"))
    var heartbeat: Span?
    @Option(help: ArgumentHelp(
        "Time between two refreshes of a board. Without it, two thirds of its access token's life.",
        valueName: "span"))
    var refresh: Span?
    @Option(help: ArgumentHelp(
        "Rate of data messages: 500/s from all boards together, or 0.5/s/board from each.",
        valueName: "rate"))
    var telemetry: TelemetryRate?
    @Option(help: ArgumentHelp("Size of each data message, in bytes.", valueName: "n"))
    var payload: Int = 100
    @Flag(help: "Read the telemetry back and account for each message.")
    var check = false
    @Option(help: ArgumentHelp(
        "Faults to inject: lost-replies=5%,replays=2%,storm=60s:50%,skew=1%,thieves=20.",
        valueName: "faults"))
    var faults: FaultPlan?
    @Option(help: ArgumentHelp(
        "The same seed chooses the same faults.", valueName: "n"))
    var seed: UInt64 = 1
    @Option(help: ArgumentHelp(
        "The number of claims that may be open at the same time.", valueName: "n"))
    var claims: Int = 16
    @Option(help: ArgumentHelp(
        "The time over which boards spread their reconnects after lost connections.",
        valueName: "span"))
    var spread = Span(seconds: 30)
    @Option(help: ArgumentHelp(
        "The number of threads. Without it, one for each 2500 boards, and at most two.",
        valueName: "n"))
    var threads: Int?

    private static let mostBoards = 50_000
    /// Descriptors for everything except the boards' connections: HTTP, files, threads.
    private static let spareDescriptors = 200

    func validate(boards: Int) throws {
        guard (1...Self.mostBoards).contains(boards) else {
            throw ValidationError("--boards is 1 to \(Self.mostBoards)")
        }
        guard (1...1000).contains(claims), (1...64).contains(threads ?? 1) else {
            throw ValidationError("--claims is 1 to 1000, --threads 1 to 64")
        }
        guard (8...65_536).contains(payload) else {
            throw ValidationError("--payload is 8 to 65536")
        }
        guard faults.map({ $0.thieves <= boards }) ?? true else {
            throw ValidationError("there are more thieves than boards")
        }
    }

    var pace: RequestPace {
        RequestPace(heartbeat: Self.pause(heartbeat), refresh: Self.pause(refresh))
    }

    /// At least 1 ms. Without a pause a board would send its next request at once after an answer,
    /// and other boards would not get a turn.
    static func pause(_ span: Span?) -> Duration? {
        span.map { max($0.duration, .milliseconds(1)) }
    }

    /// Long enough for pairing, the load and the rest.
    func lifetime(_ span: Span) -> Span {
        Span(seconds: min(max(3600, 3 * span.seconds + 7200), 364 * 86_400))
    }

    func plan(
        boards: Int, root: TopicRoot, at uri: BrokerURI, _ tls: TLSOptions,
        in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> FleetPlan {
        var plan = FleetPlan(
            boards: boards, root: root, uri: uri, tls: tls, version: PosternCommand.release,
            wall: surroundings.now)
        let each = boards > FleetPlan.crowd ? 1 : 3
        try Self.makeRoom(boards * each + Self.spareDescriptors)
        plan.address = try Self.address(of: uri)
        plan.telemetry = telemetry?.interval(boards: boards)
        plan.payload = payload
        plan.faults = faults ?? FaultPlan()
        plan.seed = seed
        plan.spread = spread.duration
        plan.threads = min(threads ?? min(2, 1 + boards / 2500), boards)
        return plan
    }

    private static func makeRoom(_ wanted: Int) throws(CommandFailure) {
        let limit: Int
        do throws(SystemError) {
            limit = try ProcessLimits.raiseDescriptorLimit()
        } catch {
            throw .failed(layer: "system", text: "\(error)")
        }
        guard limit >= wanted else {
            throw .configuration("this process may open \(limit) files and needs \(wanted) for "
                + "that many connections: raise the hard limit (`ulimit -Hn`), or use fewer "
                + "--boards")
        }
    }

    /// Looked up once: otherwise each of ten thousand connections would ask the name server.
    private static func address(of uri: BrokerURI) throws(CommandFailure) -> String? {
        guard uri.scheme != .unix else { return nil }
        let outcome: HostLookup.Outcome
        do throws(SystemError) {
            let lookup = try HostLookup(uri.host)
            var poller = Poller()
            poller.add(lookup.descriptor, read: true, write: false)
            _ = try poller.wait(.seconds(10))
            outcome = lookup.outcome
        } catch {
            throw .failed(layer: "system", text: "\(error)")
        }
        switch outcome {
        case .found(let addresses): return addresses.first
        case .failed(let text):
            throw .offline(layer: "name lookup", text: "\(uri.host): \(text)")
        case .pending:
            throw .offline(layer: "name lookup", text: "\(uri.host): no answer in time")
        }
    }
}
