import ArgumentParser
import Dispatch
import LinuxIO
import MQTT
import Sessions
import Wire

/// Which requests a load is made of.
enum SimulationMix: String, CaseIterable, ExpressibleByArgument, Sendable {
    case heartbeat
    case refresh
    /// One after the other.
    case both

    func request(_ turn: Int) -> SimulatedBoard.Request {
        switch self {
        case .heartbeat: .heartbeat
        case .refresh: .refresh
        case .both: turn.isMultiple(of: 2) ? .heartbeat : .refresh
        }
    }
}

/// `postern simulate`: boards without hardware, to see what an authority bears.
struct SimulateCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Let many boards live without hardware.",
        discussion: """
            Makes new boards, claims each as you, opens its provisioning, and lets it live for \
            --duration as the contract has it, seals included: heartbeats, refreshes, \
            telemetry. --faults puts in what goes wrong, such as \
            lost-replies=5%,replays=2%,storm=60s:50%,skew=1%,thieves=20: replies that a board \
            does not see, copies of requests that an eavesdropper sends again, connections cut \
            together (all, or a share), clocks that are hours off, and thieves with a board's \
            key and a spent token, each of whom must be found. --check reads the telemetry \
            back and accounts for each message. ^C ends it early, with the summary.

            Boards that share a connection need a broker that lets anybody read and write, one \
            whose access is "none". With as many --connections as --boards each has its own \
            connection and the login that the authority made for it.

            With --mix, --in-flight or --step the boards do not live in time but make a load: \
            --in-flight requests are on their way at any moment.

            The boards stay in the authority, named "simulated"; their sessions end by \
            themselves after --lifetime. Ends with 0 if all was right, with 3 if something was \
            not, with 5 if no answer came. What --json prints is in Provisioning/SIMULATE.md.
            """)

    @OptionGroup var place: Place
    @Option(help: ArgumentHelp("How many boards.", valueName: "n"))
    var boards: Int
    @Option(help: ArgumentHelp(
        "The boards' broker, such as mqtt://127.0.0.1:1883; what the authority says without it.",
        valueName: "uri"))
    var broker: String?
    @Option(help: ArgumentHelp(
        "How many connections they share; one for each without it, up to 10000 boards.",
        valueName: "n"))
    var connections: Int?
    @Option(help: ArgumentHelp(
        "How many requests are on their way at once (64 with --mix or --step).",
        valueName: "n"))
    var inFlight: Int?
    @Option(help: ArgumentHelp("How long the load lasts.", valueName: "span"))
    var duration = Span(seconds: 30)
    @Option(help: ArgumentHelp(
        "heartbeat, refresh or both; several times for one span of load after the other.",
        valueName: "mix"))
    var mix: [SimulationMix] = []
    @Option(help: ArgumentHelp(
        "How long the boards' sessions live; an hour, or as long as it takes.",
        valueName: "span"))
    var lifetime: Span?
    @Flag(help: "Wait for a line on standard input before each span of load.")
    var step = false
    @OptionGroup(title: "Boards that live in time") var fleet: FleetOptions

    /// What one process has room for: threads, and memory for keys and tokens.
    private static let mostConnections = 1000
    private static let mostBoards = 100_000

    /// Whether requests are kept on their way, whatever time it is.
    private var isLoad: Bool { !mix.isEmpty || inFlight != nil || step }

    func validate() throws {
        guard (1...Self.mostBoards).contains(boards) else {
            throw ValidationError("--boards is 1 to \(Self.mostBoards)")
        }
        guard duration.seconds > 0 else { throw ValidationError("--duration is above 0") }
        guard isLoad else {
            return try fleet.validate(boards: boards, connections: connections)
        }
        guard (1...min(boards, Self.mostConnections)).contains(connections ?? 1) else {
            throw ValidationError(
                "--connections is 1 to \(Self.mostConnections), and not above --boards")
        }
        guard fleet.isUnused else {
            throw ValidationError("--mix, --in-flight and --step make a load that has no faults, "
                + "no telemetry and no time of its own")
        }
        guard (1...boards).contains(requests) else {
            throw ValidationError("--in-flight is 1 to the number of boards")
        }
    }

    private var requests: Int { inFlight ?? min(64, boards) }

    func perform(in surroundings: Surroundings) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        let info = try await client.own(.get, "/info")
        let root = try decoding { () throws(WireError) in
            try info.parsed("topicRoot", TopicRoot.init)
        }
        let (uri, tls) = try await brokerPlace(client, surroundings)
        guard isLoad else {
            return try await live(client, root, uri, tls, surroundings)
        }
        let fleet = try SimulatedFleet(
            boards: boards, connections: connections ?? 1, root: root,
            lifetime: lifetime ?? Span(seconds: 3600), client: client, in: surroundings)
        do throws(CommandFailure) {
            try await fleet.provision(at: uri, tls: tls)
            try await load(fleet, surroundings)
        } catch {
            await fleet.close()
            throw error
        }
        await fleet.close()
    }

    private func live(
        _ client: AuthorityClient, _ root: TopicRoot, _ uri: BrokerURI, _ tls: TLSOptions,
        _ surroundings: Surroundings
    ) async throws(CommandFailure) {
        let plan = try fleet.plan(
            boards: boards, connections: connections, root: root, at: uri, tls, span: duration,
            in: surroundings)
        let book = TelemetryBook()
        let run = try FleetRun(
            plan, claims: fleet.claims,
            pairing: FleetPairing(client: client, lifetime: lifetime ?? fleet.lifetime(duration)),
            book: book, reader: try await reader(plan, book, client, surroundings),
            in: surroundings)
        let stop = StopSignal()
        let watch = Task {
            await stop.wait()
            guard !Task.isCancelled else { return }
            run.stop()
            stop.letSecondEnd()
        }
        defer { watch.cancel() }
        let report = try await run.run()
        if place.json {
            surroundings.emit(report.json)
        } else {
            for line in report.lines { surroundings.out(line) }
        }
        try report.judge()
    }

    /// Reads back with the caller's own login where the authority says what that is, and with
    /// none at a broker that was named.
    private func reader(
        _ plan: FleetPlan, _ book: TelemetryBook, _ client: AuthorityClient,
        _ surroundings: Surroundings
    ) async throws(CommandFailure) -> TelemetryReader? {
        guard fleet.check else { return nil }
        var options = ConnectOptions(
            uri: plan.uri, address: plan.address,
            clientID: "postern-simulate-reader-\(plan.wall().milliseconds)", tls: plan.tls)
        var filters = ["\(plan.root)/+/data/#"]
        if broker == nil {
            let access = try BrokerAccess(answer: try await client.own(.post, "/broker"))
            options = try access.options(
                folder: try place.folder(in: surroundings), insecure: place.insecure,
                showing: client.trust.identity)
            filters = access.filters.filter { $0.hasSuffix("/data/#") }
            guard filters == ["\(plan.root)/+/data/#"] else {
                throw .usage("--check reads all boards' data, which your login may not; "
                    + "be an administrator, or name a --broker that lets anybody read")
            }
        }
        do throws(SystemError) {
            return try TelemetryReader(options, filters: filters, root: plan.root, book: book)
        } catch {
            throw .failed(layer: "system", text: "\(error)")
        }
    }

    private func brokerPlace(
        _ client: AuthorityClient, _ surroundings: Surroundings
    ) async throws(CommandFailure) -> (BrokerURI, TLSOptions) {
        guard let broker else {
            let access = try BrokerAccess(answer: try await client.own(.post, "/broker"))
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

    private func load(
        _ fleet: SimulatedFleet, _ surroundings: Surroundings
    ) async throws(CommandFailure) {
        var answers: Int64 = 0
        var faults = 0
        for mix in self.mix.isEmpty ? [.both] : self.mix {
            if step, await !Self.nextLine() { break }
            let report = await measured(mix, fleet)
            answers += report.tally.answers
            faults += report.tally.faultCount
            surroundings.step(
                report.tally.faultCount == 0, "\(mix.rawValue): \(report.tally.answers) answers")
            if place.json {
                surroundings.emit(report.json)
            } else {
                for line in report.lines { surroundings.out(line) }
            }
        }
        guard answers > 0 else { throw .offline(layer: "authority", text: "no answer came") }
        guard faults == 0 else { throw .degraded("\(faults) faults beside \(answers) answers") }
    }

    /// One span of load, shorter where ^C ends it.
    private func measured(
        _ mix: SimulationMix, _ fleet: SimulatedFleet
    ) async -> SimulationReport {
        let load = Task {
            await fleet.load(mix, inFlight: requests, span: duration.duration)
        }
        let stop = StopSignal()
        let watch = Task {
            await stop.wait()
            load.cancel()
        }
        let report = await load.value
        watch.cancel()
        return report
    }

    /// False at the end of the input.
    private static func nextLine() async -> Bool {
        await withCheckedContinuation { waiting in
            DispatchQueue.global().async { waiting.resume(returning: readLine() != nil) }
        }
    }
}
