import LinuxIO
import MQTT
import Sessions
import Wire

/// One connection to the broker and the simulated boards that share it.
///
/// The load is a closed loop: a board's answer lets the next board ask, and the boards take
/// turns, so that each waits for all others of its line.
actor SimulatedLine {
    private let root: TopicRoot
    private let wall: @Sendable () -> Timestamp
    private var boards: [SimulatedBoard] = []
    private var places: [InstallationID: Int] = [:]
    private var broker: BrokerClient?
    private var failure: MQTTError?
    /// Where the one board of this line logs in by itself.
    private var ownPlace: (uri: BrokerURI, tls: TLSOptions)?
    private var isClosing = false
    private var tally = SimulationTally()
    /// Boards with a request on its way.
    private var flying: Set<Int> = []
    private var mix = SimulationMix.heartbeat
    private var wanted = 0
    private var next = 0
    private var laps = 0
    private var lastAnswer = Duration.zero

    /// How many filters one SUBSCRIBE has, and so how many provisionings come at once.
    static let batch = 100
    /// How long such a batch of boards may take to get its sessions.
    private static let provisioning = Duration.seconds(60)

    init(
        boards count: Int, root: TopicRoot, wall: @escaping @Sendable () -> Timestamp
    ) throws(SimulationFault) {
        self.root = root
        self.wall = wall
        boards.reserveCapacity(count)
        for place in 0..<count {
            let board = try SimulatedBoard(under: root)
            places[board.installation] = place
            boards.append(board)
        }
    }

    var count: Int { boards.count }

    /// What the boards of a batch show to be claimed.
    func claimURLs(_ batch: Range<Int>) -> [String] { boards[batch].map(\.claimURL) }

    /// The first board's own login, for a line of one; it is used again when the connection
    /// ends, as it does when the authority gives the board another password.
    func login(at uri: BrokerURI, tls: TLSOptions) throws(SimulationFault) -> ConnectOptions? {
        ownPlace = (uri, tls)
        return try boards.first?.login(at: uri, tls: tls)
    }

    func connect(_ options: ConnectOptions) async throws(MQTTError) {
        let client = try await BrokerClient.connect(options)
        broker = client
        Task { await self.read(client) }
    }

    func close() async {
        isClosing = true
        await broker?.close()
    }

    /// Half a minute's worth of attempts.
    private func reconnect() async -> Bool {
        for _ in 0..<100 {
            guard !isClosing, let ownPlace, let board = boards.first else { return false }
            do {
                try await connect(board.login(at: ownPlace.uri, tls: ownPlace.tls))
                _ = try await broker?.subscribe([Subscription(board.inbox)])
                boards[0].hurry()
                return true
            } catch {
                await rest(.milliseconds(300))
            }
        }
        return false
    }

    private func read(_ client: BrokerClient) async {
        for await event in client.events {
            switch event {
            case .message(let message): take(message)
            case .disconnected(let error):
                if await reconnect() { return }
                failure = error
            }
        }
    }
}

// Provisioning.
extension SimulatedLine {
    /// Lets claimed boards hear of it; returns how many have shown that they hold a session.
    func provision(_ batch: Range<Int>) async throws(MQTTError) -> Int {
        guard let broker else { throw .notConnected }
        let codes = try await broker.subscribe(boards[batch].map { Subscription($0.inbox) })
        guard codes.allSatisfy({ $0 < 0x80 }) else {
            throw .brokerLogin("a subscription was refused", reasonCode: 0x87)
        }
        let end = SystemClock.monotonic + Self.provisioning
        while SystemClock.monotonic < end, !Task.isCancelled {
            if let failure { throw failure }
            if batch.allSatisfy(isReady) { break }
            await rest(.milliseconds(10))
            askAgain()
        }
        return batch.count(where: isReady)
    }

    private func isReady(_ place: Int) -> Bool {
        boards[place].isAlive && boards[place].pending == nil
    }

    private func rest(_ span: Duration) async {
        do { try await Task.sleep(for: span) } catch {}
    }
}

// Load.
extension SimulatedLine {
    /// Keeps `inFlight` requests on their way for a span, or until the task is cancelled, and
    /// waits for the last answers. Returns the time from the first request to the last answer.
    func load(
        _ mix: SimulationMix, inFlight: Int, span: Duration
    ) async -> (tally: SimulationTally, time: Duration) {
        self.mix = mix
        tally = SimulationTally()
        wanted = inFlight
        let begin = SystemClock.monotonic
        lastAnswer = begin
        fill()
        while SystemClock.monotonic < begin + span, !Task.isCancelled, failure == nil {
            await rest(.milliseconds(50))
            askAgain()
            fill()
        }
        wanted = 0
        let end = SystemClock.monotonic + SimulatedBoard.patience + .seconds(2)
        while !flying.isEmpty, SystemClock.monotonic < end, failure == nil {
            await drain()
            askAgain()
        }
        for _ in flying { tally.note(.silence) }
        if let failure { tally.note(SimulationFault(failure)) }
        return (tally, lastAnswer - begin)
    }

    /// Also once the task is cancelled: what is on its way is not lost by that.
    private func drain() async {
        await Task { try? await Task.sleep(for: .milliseconds(10)) }.value
    }

    private func fill() {
        var tried = 0
        while flying.count < wanted, tried < boards.count {
            let place = next
            next += 1
            if next == boards.count { (next, laps) = (0, laps + 1) }
            tried += 1
            if isReady(place) { ask(mix.request(place + laps), place) }
        }
    }

    private func ask(_ request: SimulatedBoard.Request, _ place: Int) {
        do throws(SimulationFault) {
            guard let payload = try boards[place].ask(
                request, at: SystemClock.monotonic, wall: wall())
            else { return }
            flying.insert(place)
            tally.bytes.requests += payload.count
            publish(payload, place)
        } catch {
            tally.note(error)
        }
    }

    private func askAgain() {
        let now = SystemClock.monotonic
        for place in flying {
            do throws(SimulationFault) {
                guard let payload = try boards[place].askAgain(at: now, wall: wall()) else {
                    continue
                }
                tally.repeated += 1
                publish(payload, place)
            } catch {
                tally.note(error)
            }
        }
    }

    private func take(_ message: IncomingMessage) {
        guard case .inbox(let id)? = ContractTopic(message.topic, under: root),
            let place = places[id]
        else { return }
        let now = SystemClock.monotonic
        do throws(SimulationFault) {
            switch try boards[place].take(message.payload, at: now, wall: wall()) {
            case .ignored: return
            case .provisioned(let reply):
                publish(reply, place)
                ask(.heartbeat, place)
            case .answered(let request, let span):
                flying.remove(place)
                lastAnswer = now
                tally.bytes.replies += message.payload.count
                tally.answered(request, after: span)
            case .over(let reply):
                flying.remove(place)
                publish(reply, place)
                tally.note(.refused(ErrorCode.invalidSession.rawValue))
            }
        } catch {
            if boards[place].pending == nil { flying.remove(place) }
            tally.note(error)
        }
        fill()
    }

    private func publish(_ payload: [UInt8], _ place: Int) {
        guard let broker else { return }
        let message = OutgoingMessage(topic: boards[place].outbox, payload: payload)
        Task {
            do throws(MQTTError) {
                let code = try await broker.publish(message)
                if code != 0 { tally.note(SimulationFault(code: code)) }
            } catch {
                // A board with its own login comes back, and repeats what was on its way.
                if ownPlace == nil { tally.note(SimulationFault(error)) }
            }
        }
    }
}

extension SimulationFault {
    init(_ error: MQTTError) {
        self = .broker(layer: error.layer?.rawValue ?? "MQTT", text: "\(error)")
    }

    /// 0x10 is MQTT 5's "no matching subscribers".
    init(code: UInt8) {
        let text = code == 0x10 ? "no authority reads the outbox" : "refused with \(code)"
        self = .broker(layer: "MQTT", text: text)
    }
}
