import ArgumentParser
import BrokerClient
import Dispatch
import LinuxIO
import Mosquitto
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
        commandName: "simulate", abstract: "Put an authority under the load of many boards.",
        discussion: """
            Makes new boards, claims each as you, opens its provisioning, and then keeps \
            --in-flight requests on their way: each board asks, waits for the answer, checks \
            it, and asks again when the others had their turn. All is as the contract has it, \
            seals included.

            Boards that share a connection need a broker that lets anybody read and write, one \
            whose access is "none". With as many --connections as --boards each has its own \
            connection and the login that the authority made for it.

            The boards stay in the authority, named "simulated"; their sessions end by \
            themselves after --lifetime. Ends with 0 if every answer was right, with 3 if some \
            were not, with 5 if none came.
            """)

    @OptionGroup var place: Place
    @Option(help: ArgumentHelp("How many boards.", valueName: "n"))
    var boards: Int
    @Option(help: ArgumentHelp(
        "The boards' broker, such as mqtt://127.0.0.1:1883; what the authority says without it.",
        valueName: "uri"))
    var broker: String?
    @Option(help: ArgumentHelp("How many connections they share.", valueName: "n"))
    var connections = 1
    @Option(help: ArgumentHelp("How many requests are on their way at once.", valueName: "n"))
    var inFlight = 64
    @Option(help: ArgumentHelp("How long the load lasts.", valueName: "span"))
    var duration = Span(seconds: 30)
    @Option(help: ArgumentHelp(
        "heartbeat, refresh or both; several times for one span of load after the other.",
        valueName: "mix"))
    var mix: [SimulationMix] = []
    @Option(help: ArgumentHelp("How long the boards' sessions live.", valueName: "span"))
    var lifetime = Span(seconds: 3600)
    @Flag(help: "Wait for a line on standard input before each span of load.")
    var step = false

    /// What one process has room for: threads, and memory for keys and tokens.
    private static let mostConnections = 1000
    private static let mostBoards = 100_000

    func validate() throws {
        guard (1...Self.mostBoards).contains(boards) else {
            throw ValidationError("--boards is 1 to \(Self.mostBoards)")
        }
        guard (1...min(boards, Self.mostConnections)).contains(connections) else {
            throw ValidationError(
                "--connections is 1 to \(Self.mostConnections), and not above --boards")
        }
        guard (1...boards).contains(inFlight) else {
            throw ValidationError("--in-flight is 1 to the number of boards")
        }
        guard duration.seconds > 0 else { throw ValidationError("--duration is above 0") }
    }

    func perform(in surroundings: Surroundings) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        let info = try await client.own(.get, "/info")
        let root = try decoding { () throws(WireError) in
            try info.parsed("topicRoot", TopicRoot.init)
        }
        let (uri, tls) = try await brokerPlace(client, surroundings)
        let fleet = try SimulatedFleet(
            boards: boards, connections: connections, root: root, lifetime: lifetime,
            client: client, in: surroundings)
        do throws(CommandFailure) {
            try await fleet.provision(at: uri, tls: tls)
            try await load(fleet, surroundings)
        } catch {
            await fleet.close()
            throw error
        }
        await fleet.close()
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
            await fleet.load(mix, inFlight: inFlight, span: duration.duration)
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
