import AgentCore
import ArgumentParser
import Dispatch
import FleetSimulator
import LinuxIO
import MQTT
import Sessions
import Wire

/// The requests that follow one another without a pause.
enum SimulationMix: String, CaseIterable, ExpressibleByArgument, Sendable {
    case heartbeat
    case refresh
    case both

    var pace: RequestPace {
        let none = FleetOptions.pause(Span(seconds: 0))
        let never = Duration.seconds(86_400)
        return RequestPace(
            heartbeat: self == .refresh ? never : none,
            refresh: self == .heartbeat ? never : none)
    }
}

/// `postern simulate`: runs boards without hardware, to test the load on an authority.
struct SimulateCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Simulate many boards without hardware.",
        discussion: """
            Makes new boards, each with the same agent that real boards run, and claims each \
            as you. The boards then run for --duration: heartbeats, refreshes, telemetry. Each \
            board has its own connection and login. --faults injects faults, such as \
            lost-replies=5%,replays=2%,storm=60s:50%,skew=1%,thieves=20: replies that a board \
            does not receive, copies of heartbeats that an eavesdropper sends again, many \
            connections cut at once (all, or a share), clocks that are wrong by hours, and \
            thieves with a board's key and a spent token. Every thief must be found. --check \
            reads the telemetry back and accounts for each message. ^C ends the run early and \
            prints the summary.

            --heartbeat 0s and --refresh 0s send requests without pauses; at most --in-flight \
            boards wait for an answer at the same moment. --mix does the same for one span of \
            load, and can be given several times.

            The boards stay in the authority, named "simulated"; their sessions expire after \
            --lifetime. Exit status: 0 everything was right, 3 something was wrong, 5 no answer \
            came. Provisioning/SIMULATE.md describes the output of --json.
            """)

    @OptionGroup var place: Place
    @Option(help: ArgumentHelp("The number of boards.", valueName: "n"))
    var boards: Int
    @Option(help: ArgumentHelp(
        "The boards' broker, such as mqtt://127.0.0.1:1883. Without it, the authority's.",
        valueName: "uri"))
    var broker: String?
    @Option(help: ArgumentHelp("How long the load lasts.", valueName: "span"))
    var duration = Span(seconds: 30)
    @Option(help: ArgumentHelp(
        "How many boards may wait for an answer at the same moment. Without it, all that are due.",
        valueName: "n"))
    var inFlight: Int?
    @Option(help: ArgumentHelp(
        "heartbeat, refresh or both, without pauses. Give it again for each further span of load.",
        valueName: "mix"))
    var mix: [SimulationMix] = []
    @Option(help: ArgumentHelp(
        "How long the boards' sessions last. Without it, as long as the run, at least an hour.",
        valueName: "span"))
    var lifetime: Span?
    @Flag(help: "Wait for a line on standard input before each span of load.")
    var step = false
    @OptionGroup(title: "How the boards behave") var fleet: FleetOptions

    func validate() throws {
        guard duration.seconds > 0 else { throw ValidationError("--duration is above 0") }
        guard (1...max(1, boards)).contains(inFlight ?? 1) else {
            throw ValidationError("--in-flight is 1 to the number of boards")
        }
        try fleet.validate(boards: boards)
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        let info = try await client.own(.get, "/info")
        let root = try decoding { () throws(WireError) in
            try info.parsed("topicRoot", TopicRoot.init)
        }
        let (uri, tls) = try await brokerPlace(client, surroundings)
        let plan = try fleet.plan(boards: boards, root: root, at: uri, tls, in: surroundings)
        let book = TelemetryRecord()
        let reader = try await reader(plan, book, client, surroundings)
        let seconds = (lifetime ?? fleet.lifetime(duration)).seconds
        let run: FleetRun
        do throws(FleetFailure) {
            run = try FleetRun(
                plan, claims: fleet.claims, reader: reader, book: book,
                watcher: FleetProgress(surroundings)
            ) { await client.claim($0, seconds: seconds, isFirst: $1) }
        } catch {
            throw CommandFailure(error)
        }
        let stop = StopSignal()
        let watch = Task {
            await stop.wait()
            guard !Task.isCancelled else { return }
            run.stop()
            stop.letSecondEnd()
        }
        defer { watch.cancel() }
        let verdicts: [FleetReport.Verdict]
        do throws(FleetFailure) {
            verdicts = try await live(run, surroundings)
        } catch {
            await run.close()
            throw CommandFailure(error)
        }
        await run.close()
        try judge(verdicts)
    }

    private func live(
        _ run: FleetRun, _ surroundings: CommandEnvironment
    ) async throws(FleetFailure) -> [FleetReport.Verdict] {
        try await run.pair()
        let paces = mix.isEmpty ? [fleet.pace] : mix.map(\.pace)
        var verdicts: [FleetReport.Verdict] = []
        for pace in paces {
            if step, await !Self.nextLine() { break }
            let load = FleetLoad(span: duration.duration, pace: pace, inFlight: inFlight)
            let report = try await run.live(load)
            verdicts.append(report.verdict)
            if place.json {
                surroundings.emit(report.json)
            } else {
                for line in report.lines { surroundings.out(line) }
            }
        }
        return verdicts
    }

    private func judge(_ verdicts: [FleetReport.Verdict]) throws(CommandFailure) {
        if verdicts.contains(.silent) { throw .offline(layer: "authority", text: "no answer came") }
        for case .wrong(let text) in verdicts { throw .degraded(text) }
    }

    /// The reader for `--check`. It uses the user's own login if the authority names the broker,
    /// and no login at a broker given by `--broker`.
    private func reader(
        _ plan: FleetPlan, _ book: TelemetryRecord, _ client: AuthorityClient,
        _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> TelemetryReader? {
        guard fleet.check else { return nil }
        var options = ConnectOptions(
            uri: plan.uri, address: plan.address,
            clientID: "postern-simulate-reader-\(plan.wall().milliseconds)", tls: plan.tls)
        var filters = ["\(plan.root)/+/data/#"]
        if broker == nil {
            let access = try ConsumerLogin(answer: try await client.own(.post, "/broker"))
            options = try access.options(
                folder: try place.folder(in: surroundings), insecure: place.insecure,
                showing: client.trust.identity)
            filters = access.filters.filter { $0.hasSuffix("/data/#") }
            guard filters == ["\(plan.root)/+/data/#"] else {
                throw .usage("--check reads all boards' data, which your login may not; log in as "
                    + "an administrator, or give a --broker that lets anybody read")
            }
        }
        do throws(SystemError) {
            return try TelemetryReader(options, filters: filters, root: plan.root, book: book)
        } catch {
            throw .failed(layer: "system", text: "\(error)")
        }
    }

    private func brokerPlace(
        _ client: AuthorityClient, _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> (BrokerURI, TLSOptions) {
        guard let broker else {
            let access = try ConsumerLogin(answer: try await client.own(.post, "/broker"))
            let options = try access.options(
                folder: try place.folder(in: surroundings), insecure: place.insecure)
            return (access.uri, options.tls)
        }
        let uri: BrokerURI
        do throws(BrokerURI.ParseError) {
            uri = try BrokerURI(broker)
        } catch {
            throw .usage("--broker is mqtt://host[:port], mqtts://host[:port] or unix:path")
        }
        guard uri.scheme != .mqtt || uri.isLoopback || place.insecure else {
            throw .usage("plain MQTT would show the boards' passwords to the network; "
                + "use --insecure if you must")
        }
        return (uri, TLSOptions(
            caFile: place.caFile, certificateFile: place.certificate, keyFile: place.key))
    }

    /// Waits for a line. False at the end of the input.
    private static func nextLine() async -> Bool {
        await withCheckedContinuation { waiting in
            DispatchQueue.global().async { waiting.resume(returning: readLine() != nil) }
        }
    }
}

extension AuthorityClient {
    /// Claims one simulated board.
    fileprivate func claim(_ url: String, seconds: Int64, isFirst: Bool) async -> ClaimAnswer {
        do throws(CommandFailure) {
            _ = try await own(
                .post, "/claims", ["url": .string(url), "durationSeconds": .integer(seconds)])
            return .claimed
        } catch {
            switch error {
            // The answer to the last try was lost, so the claim is already open.
            case .refused(let refusal) where refusal.is(.forbidden) && !isFirst: return .claimed
            case .refused(let refusal) where refusal.is(.rateLimit): return .later(error.sentence)
            case .offline, .failed("authority", _): return .later(error.sentence)
            default: return .refused(error)
            }
        }
    }
}

extension CommandFailure {
    fileprivate init(_ failure: FleetFailure) {
        self = switch failure {
        case .system(let text): .failed(layer: "system", text: text)
        case .offline(let layer, let text): .offline(layer: layer, text: text)
        case .claim(let error as CommandFailure): error
        case .claim(let error): .failed(layer: "claim", text: "\(error)")
        }
    }
}
