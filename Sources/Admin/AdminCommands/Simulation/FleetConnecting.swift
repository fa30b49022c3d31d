import LinuxIO
import MQTT
import Sessions
import Wire

// The connections of a part of the fleet.
extension FleetShard {
    /// How long one try may take.
    private static let patience = Duration.seconds(30)
    /// How many filters one SUBSCRIBE has.
    private static let batch = 100

    func claimed(_ place: Int) {
        guard boards.indices.contains(place), boards[place].phase == .unclaimed else { return }
        boards[place].phase = .claimed
        let number = lineOf[place]
        let line = lines[number]
        switch line.phase {
        case .idle where line.connection == nil && line.retryAt == nil: connect(number)
        case .open: subscribe([place], number)
        case .idle, .connecting, .done: break
        }
    }

    func wake(line number: Int, at moment: FleetBoard.Moment) {
        let line = lines[number]
        if line.phase == .idle {
            guard let due = line.retryAt else { return }
            return due <= moment.now ? connect(number) : schedule(line: number, at: due)
        }
        if let deadline = line.deadline, deadline <= moment.now {
            return ended(number, .tcp("no answer within 30 s"))
        }
        do throws(MQTTError) {
            if line.connection?.nextTick == .zero { try line.connection?.tick() }
        } catch {
            return ended(number, error)
        }
        if line.connection?.hasBufferedInput == true { listen(number) }
        mark(number)
    }

    private func connect(_ number: Int) {
        let line = lines[number]
        let now = SystemClock.monotonic
        line.retryAt = nil
        if isWorking { tally.tries[now.components.seconds, default: 0] += 1 }
        do {
            var connection = try Connection(options(line))
            try connection.connect()
            line.connection = consume connection
            line.phase = .connecting
            line.deadline = now + Self.patience
            mark(number)
        } catch let error as MQTTError {
            ended(number, error)
        } catch let fault as SimulationFault {
            tally.violations.note(fault)
        } catch {
            ended(number, .notConnected)
        }
    }

    private func options(_ line: FleetLine) throws -> ConnectOptions {
        var options = ConnectOptions(uri: plan.uri, clientID: line.clientID, tls: plan.tls)
        if plan.isOneEach, let place = line.boards.first {
            let board = boards[place]
            line.showsClaim = line.isByClaim || board.base.life?.brokerPassword == nil
            options = try board.base.login(at: plan.uri, tls: plan.tls, byClaim: line.isByClaim)
            options.will = status(board, isUp: false)
        }
        options.address = plan.address
        options.isOneOfMany = plan.isCrowded
        return options
    }

    private func status(_ board: FleetBoard, isUp: Bool) -> OutgoingMessage {
        let status = BoardStatus(
            up: isUp, available: board.phase == .alive, version: PosternCommand.release,
            since: plan.wall())
        return OutgoingMessage(
            topic: ContractTopic.status(board.base.installation).text(under: plan.root),
            payload: status.payload, retain: true)
    }

    /// Reads what there is, and acts on it.
    func listen(_ number: Int) {
        let line = lines[number]
        guard line.connection != nil else { return }
        do throws(MQTTError) {
            try line.connection?.read(atMost: 1000)
        } catch {
            return ended(number, error)
        }
        attend(number)
        mark(number)
    }

    /// Sends what is queued.
    func write(_ number: Int) {
        let line = lines[number]
        guard line.connection != nil else { return }
        do throws(MQTTError) {
            try line.pump()
            try line.connection?.write()
        } catch {
            return ended(number, error)
        }
        attend(number)
        guard line.connection != nil else { return }
        watch(number)
        let now = SystemClock.monotonic
        let tick = line.connection?.nextTick.map { now + max($0, .milliseconds(10)) }
        let buffered = line.connection?.hasBufferedInput == true ? now : nil
        schedule(line: number, at: [tick, line.deadline, buffered].compactMap(\.self).min())
    }

    private func attend(_ number: Int) {
        let line = lines[number]
        guard let events = line.connection?.takeEvents() else { return }
        for event in events {
            switch event {
            case .connected: letIn(number)
            case .message(let message): take(message, line)
            case .published(let packetID, let code): acknowledged(packetID, code, line, number)
            case .subscribed(let packetID, let codes): subscribed(packetID, codes, line)
            case .unsubscribed: break
            case .refused, .disconnected: return ended(number, event.failure ?? .notConnected)
            }
        }
    }

    private func letIn(_ number: Int) {
        let line = lines[number]
        line.phase = .open
        line.deadline = nil
        line.failures = 0
        tally.connects += 1
        if plan.isOneEach, let place = line.boards.first {
            line.add(status(boards[place], isUp: true), .status)
        }
        let claimed = line.boards.filter { boards[$0].phase != .unclaimed }
        for start in stride(from: 0, to: claimed.count, by: Self.batch) {
            subscribe(Array(claimed[start..<min(start + Self.batch, claimed.count)]), number)
        }
    }

    private func subscribe(_ places: [Int], _ number: Int) {
        let line = lines[number]
        do throws(MQTTError) {
            let filters = places.map { Subscription(boards[$0].base.inbox) }
            if let packetID = try line.connection?.subscribe(filters) {
                line.awaited[packetID] = .subscription(places)
            }
            mark(number)
        } catch {
            ended(number, error)
        }
    }

    private func subscribed(_ packetID: Int32, _ codes: [UInt8], _ line: FleetLine) {
        guard case .subscription(let places)? = line.awaited.removeValue(forKey: packetID) else {
            return
        }
        let moment = self.moment
        for (place, code) in zip(places, codes) {
            guard code < 0x80 else {
                tally.errors.note(.broker(
                    layer: "policy", text: "the broker refuses the inbox (\(code))"))
                continue
            }
            boards[place].reached(plan, at: moment, &tally)
            settle(place, at: moment)
        }
    }

    private func take(_ message: IncomingMessage, _ line: FleetLine) {
        guard let place = place(of: message.topic, on: line) else { return }
        let moment = self.moment
        do throws(SimulationFault) {
            try boards[place].take(message.payload, plan, at: moment, &tally)
        } catch {
            tally.violations.note(error)
        }
        settle(place, at: moment)
    }

    private func acknowledged(
        _ packetID: Int32, _ code: UInt8, _ line: FleetLine, _ number: Int
    ) {
        guard let awaited = line.awaited.removeValue(forKey: packetID) else { return }
        mark(number)
        switch awaited {
        case .subscription: break
        case .sealed, .status:
            if code >= 0x80 { tally.errors.note(SimulationFault(refusedWith: code)) }
        case .telemetry(let place, let sequence):
            let moment = self.moment
            if code < 0x80 {
                boards[place].records.acknowledged(sequence)
                book.acknowledge(
                    sequence, of: boards[place].base.installation, at: moment.now)
            } else {
                tally.errors.note(SimulationFault(refusedWith: code))
                boards[place].records.refused(sequence, at: moment.now)
            }
            settle(place, at: moment)
        }
    }

    /// A connection is over: by its end, by a failed try, or (nil) because we cut it.
    func ended(_ number: Int, _ error: MQTTError?) {
        let line = lines[number]
        let wasOpen = line.phase == .open
        let isPlanned = error != nil && isPlannedEnd(line)
        line.connection = nil
        line.phase = .idle
        (line.deadline, line.watched) = (nil, nil)
        line.awaited.removeAll()
        line.forgetQueue()
        for place in line.boards { boards[place].cutOff() }
        if wasOpen, !isPlanned { tally.disconnects += 1 }
        if isFinished(line) {
            line.phase = .done
            return
        }
        if let error, !isPlanned {
            tally.errors.note(SimulationFault(error))
        }
        // The new password first; the derived one until the new one has worked.
        if case .brokerLogin? = error { line.isByClaim.toggle() } else { line.isByClaim = false }
        line.failures += wasOpen ? 0 : 1
        let due = SystemClock.monotonic + pause(line, isPlanned: isPlanned)
        line.retryAt = due
        schedule(line: number, at: due)
        for place in line.boards { schedule(board: place) }
    }

    /// Its one board's session is over, and nothing more is to be said.
    private func isFinished(_ line: FleetLine) -> Bool {
        guard plan.isOneEach, let place = line.boards.first else { return false }
        return boards[place].phase == .over && boards[place].ending != .untold
    }

    /// A new password ends the connection that was made with the old one.
    private func isPlannedEnd(_ line: FleetLine) -> Bool {
        plan.isOneEach && line.boards.allSatisfy { line.isOutdated(for: boards[$0]) }
    }

    /// A fleet that lost its connections together comes back spread; nobody waits after a
    /// provisioning.
    private func pause(_ line: FleetLine, isPlanned: Bool) -> Duration {
        guard isWorking, !isPlanned else {
            return .milliseconds(200) + random.within(.milliseconds(400) * min(line.failures, 10))
        }
        let spread = plan.spread
        return line.failures == 0
            ? random.within(spread) : spread / 2 + random.within(spread)
    }

    /// The load is over: who waits for its next try waits a third of what is left.
    func hasten() {
        let now = SystemClock.monotonic
        for number in lines.indices where lines[number].phase == .idle {
            guard let due = lines[number].retryAt, due > now else { continue }
            let sooner = now + (due - now) / 3
            lines[number].retryAt = sooner
            schedule(line: number, at: sooner)
        }
    }

    /// DISCONNECT with the last will: the broker says "down" for them.
    func closeLines() {
        for line in lines {
            guard line.phase == .open else { continue }
            try? line.connection?.disconnect(sendWill: plan.isOneEach)
            try? line.connection?.write()
            line.connection = nil
        }
    }
}

extension SimulationFault {
    /// A PUBACK's code from 0x80 on. Source: MQTT 5 §3.4.2.1.
    init(refusedWith code: UInt8) {
        let layer = code == ReasonCode.notAuthorized ? "policy" : "MQTT"
        self = .broker(layer: layer, text: "a message was refused: \(ReasonCode.text(code))")
    }
}

extension FleetBoard {
    /// It has its session, and one answer under it.
    var isPaired: Bool { phase == .alive && heartbeat == nil && unacknowledged == nil }

    /// A record as it goes upstream. Source: the wire contract, Data topics and properties.
    func message(_ record: FleetRecords.Record, _ plan: FleetPlan) -> OutgoingMessage {
        var payload = Array("{\"n\":\(record.sequence)".utf8)
        let pad = plan.payload - payload.count - 1
        if pad > 7 {
            payload += Array(",\"p\":\"".utf8)
            payload += Array(repeating: UInt8(ascii: "x"), count: pad - 7)
            payload.append(UInt8(ascii: "\""))
        }
        payload.append(UInt8(ascii: "}"))
        return OutgoingMessage(
            topic: "\(plan.root)/\(base.installation)/data/\(FleetPlan.className)/create",
            payload: payload,
            properties: MessageProperties(userProperties: [
                UserProperty("sid", session?.description ?? ""),
                UserProperty("seq", String(record.sequence)),
                UserProperty("ts", String(record.acceptedAt.milliseconds)),
                UserProperty("app", FleetPlan.app),
            ]))
    }
}
