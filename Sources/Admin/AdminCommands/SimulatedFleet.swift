import LinuxIO
import MQTT
import Sessions
import Synchronization
import Wire

/// Simulated boards on their connections: claimed, provisioned, and put under load.
struct SimulatedFleet: Sendable {
    let lines: [SimulatedLine]
    private let client: AuthorityClient
    private let lifetime: Span
    private let surroundings: Surroundings
    private let done: Progress

    /// Claims that are on their way at once, on all connections.
    private static let claims = 16

    /// Boards that nobody has claimed, spread evenly.
    init(
        boards: Int, connections: Int, root: TopicRoot, lifetime: Span,
        client: AuthorityClient, in surroundings: Surroundings
    ) throws(CommandFailure) {
        self.client = client
        self.lifetime = lifetime
        self.surroundings = surroundings
        done = Progress(total: boards)
        var lines: [SimulatedLine] = []
        do throws(SimulationFault) {
            for place in 0..<connections {
                let count = boards * (place + 1) / connections - boards * place / connections
                lines.append(try SimulatedLine(
                    boards: count, root: root, wall: surroundings.now))
            }
        } catch {
            throw .failed(layer: error.layer, text: error.text)
        }
        self.lines = lines
    }

    /// Claims each board as the caller, connects, and waits until each holds its session.
    func provision(at uri: BrokerURI, tls: TLSOptions) async throws(CommandFailure) {
        // One line claims many boards at once, many lines one each.
        let atOnce = min(lines.count, Self.claims)
        let claims = max(1, Self.claims / atOnce)
        try await each(lines, atOnce: atOnce) { line throws(CommandFailure) in
            try await provision(line, at: uri, tls: tls, claims: claims)
        }
        surroundings.step(true, "\(done.count) boards hold their sessions")
    }

    private func provision(
        _ line: SimulatedLine, at uri: BrokerURI, tls: TLSOptions, claims: Int
    ) async throws(CommandFailure) {
        let count = await line.count
        for start in stride(from: 0, to: count, by: SimulatedLine.batch) {
            let batch = start..<min(start + SimulatedLine.batch, count)
            try await each(await line.claimURLs(batch), atOnce: claims) {
                url throws(CommandFailure) in
                _ = try await client.own(.post, "/claims", [
                    "url": .string(url), "durationSeconds": .integer(lifetime.seconds),
                ])
            }
            // A board's own login is made when it is claimed, so not before.
            if start == 0 { try await connect(line, isAlone: count == 1, uri, tls) }
            let ready: Int
            do throws(MQTTError) {
                ready = try await line.provision(batch)
            } catch {
                throw CommandFailure(error)
            }
            guard ready == batch.count else {
                throw .offline(
                    layer: "authority",
                    text: "\(batch.count - ready) boards were claimed and got no session")
            }
            if let text = done.add(ready) { surroundings.step(true, text) }
        }
    }

    private func connect(
        _ line: SimulatedLine, isAlone: Bool, _ uri: BrokerURI, _ tls: TLSOptions
    ) async throws(CommandFailure) {
        var options = ConnectOptions(uri: uri, clientID: "", tls: tls)
        do throws(SimulationFault) {
            if isAlone, let own = try await line.login(at: uri, tls: tls) {
                options = own
            } else {
                options.clientID = try Self.clientID()
            }
        } catch {
            throw .failed(layer: error.layer, text: error.text)
        }
        do throws(MQTTError) {
            try await line.connect(options)
        } catch {
            throw CommandFailure(error)
        }
    }

    private static func clientID() throws(SimulationFault) -> String {
        "postern-simulate-\(try SimulatedBoard.newID())"
    }

    /// One span of load on all connections.
    func load(
        _ mix: SimulationMix, inFlight: Int, span: Duration
    ) async -> SimulationReport {
        let begun = surroundings.now()
        let share = max(1, inFlight / lines.count)
        var tally = SimulationTally()
        var longest = Duration.zero
        await withTaskGroup { group in
            for line in lines {
                group.addTask { await line.load(mix, inFlight: share, span: span) }
            }
            for await (part, time) in group {
                tally.merge(part)
                longest = max(longest, time)
            }
        }
        return SimulationReport(
            mix: mix, tally: tally, begun: begun, seconds: longest / .seconds(1))
    }

    func close() async {
        for line in lines { await line.close() }
    }

    /// Does something for each of `items`, a few at once; ends with the first failure.
    private func each<T: Sendable>(
        _ items: [T], atOnce: Int,
        _ act: @escaping @Sendable (T) async throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        let result = await withTaskGroup(of: Result<Void, CommandFailure>.self) {
            group -> Result<Void, CommandFailure> in
            var rest = items[...]
            func addNext() {
                guard let item = rest.popFirst() else { return }
                group.addTask {
                    do throws(CommandFailure) {
                        return .success(try await act(item))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            for _ in 0..<atOnce { addNext() }
            for await result in group {
                if case .failure = result {
                    group.cancelAll()
                    return result
                }
                addNext()
            }
            return .success(())
        }
        try result.get()
    }
}

/// Counts up, and says so at each tenth.
private final class Progress: Sendable {
    private let total: Int
    private let state = Mutex(0)

    init(total: Int) { self.total = total }

    var count: Int { state.withLock { $0 } }

    func add(_ number: Int) -> String? {
        state.withLock { count in
            let before = count * 10 / total
            count += number
            let isNews = count * 10 / total > before && count < total
            return isNews ? "\(count) of \(total) boards hold their sessions" : nil
        }
    }
}
