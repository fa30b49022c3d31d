import AgentCore
import LinuxIO
import MQTT
import Sessions
import Wire

// The connections of one shard of the fleet.
extension FleetShard {
    /// The time limit of one connection attempt.
    private static let patience = Duration.seconds(30)

    func perform(_ order: FleetBoard.Order, _ place: Int) {
        let uplink = uplinks[place]
        switch order {
        case .connect(let login): connect(place, login)
        case .disconnect(let isClean):
            if isClean, uplink.phase == .open {
                try? uplink.pump()
                try? uplink.connection?.disconnect()
                try? uplink.connection?.write()
            }
            uplink.drop()
        case .subscribe(let topic):
            do throws(MQTTError) {
                uplink.subscription = try uplink.connection?.subscribe([Subscription(topic)])
            } catch {
                ended(place, error)
            }
        case .publish(let message, let sequence):
            if uplink.phase == .open { uplink.add(message, sequence) }
        }
    }

    private func connect(_ place: Int, _ login: UplinkLogin) {
        let uplink = uplinks[place]
        let now = SystemClock.monotonic
        uplink.drop()
        if isWorking { tally.tries[now.components.seconds, default: 0] += 1 }
        var options = ConnectOptions(
            uri: plan.uri, address: plan.address, clientID: login.clientID,
            username: login.username, password: login.password,
            will: login.will.map { will in
                OutgoingMessage(topic: will.topic, payload: will.payload, retain: true)
            },
            tls: plan.tls)
        options.isOneOfMany = plan.boards > FleetPlan.crowd
        do throws(MQTTError) {
            var connection = try Connection(options)
            try connection.connect()
            uplink.connection = consume connection
            uplink.phase = .connecting
            uplink.password = login.password
            uplink.deadline = now + Self.patience
        } catch {
            ended(place, error)
        }
    }

    /// Does the work that is due for the connection.
    func look(at place: Int, at moment: Instant) {
        let uplink = uplinks[place]
        if let deadline = uplink.deadline, deadline <= moment.monotonic {
            return ended(place, .tcp("no answer within 30 s"))
        }
        do throws(MQTTError) {
            if uplink.connection?.nextTick == .zero { try uplink.connection?.tick() }
        } catch {
            return ended(place, error)
        }
        if uplink.connection?.hasBufferedInput == true { listen(place) }
        mark(place)
    }

    /// Reads the available input, and handles it.
    func listen(_ place: Int) {
        let uplink = uplinks[place]
        guard uplink.connection != nil else { return }
        do throws(MQTTError) {
            try uplink.connection?.read(atMost: 1000)
        } catch {
            return ended(place, error)
        }
        attend(place)
        mark(place)
    }

    /// Sends the queued messages.
    func write(_ place: Int) {
        let uplink = uplinks[place]
        guard uplink.connection != nil else { return }
        do throws(MQTTError) {
            try uplink.pump()
            try uplink.connection?.write()
        } catch {
            return ended(place, error)
        }
        attend(place)
        guard uplink.connection != nil else { return }
        watch(uplink, place)
        schedule(place, at: moment)
    }

    private func attend(_ place: Int) {
        let uplink = uplinks[place]
        guard let events = uplink.connection?.takeEvents(), !events.isEmpty else { return }
        let moment = self.moment
        for event in events {
            switch event {
            case .connected:
                uplink.phase = .open
                tally.connects += 1
                boards[place].connectionChanged(.connected, at: moment, &tally)
            case .subscribed(let packetID, let codes) where packetID == uplink.subscription:
                uplink.deadline = nil
                guard codes.allSatisfy({ $0 < 0x80 }) else {
                    return ended(place, .brokerLogin(
                        "the inbox may not be subscribed", reasonCode: 0x87))
                }
                boards[place].connectionChanged(.ready, at: moment, &tally)
            case .message(let message) where message.topic == boards[place].inbox:
                boards[place].hear(
                    message.payload, mayFail: isWorking, &random, at: moment, &tally)
            case .published(let packetID, let code):
                if let sequence = uplink.writes.removeValue(forKey: packetID) {
                    boards[place].acknowledged(sequence, code, at: moment, &tally)
                } else if code >= 0x80 {
                    tally.errors.note(SimulationFault(refusedWith: code))
                }
            case .refused, .disconnected:
                return ended(place, event.failure ?? .notConnected)
            case .message, .subscribed, .unsubscribed: break
            }
            settle(place, at: moment)
            // The board may have ended this connection or opened a new one.
            guard uplink.phase == .open else { return }
        }
    }

    /// Handles the end of a connection: it was lost, an attempt failed, or it was cut on purpose.
    func ended(_ place: Int, _ error: MQTTError, isOnPurpose: Bool = false) {
        let uplink = uplinks[place]
        let wasOpen = uplink.phase == .open
        let isPlanned = boards[place].hasReplaced(uplink.password) || boards[place].isOver
        uplink.drop()
        if wasOpen, !isPlanned { tally.disconnects += 1 }
        if !isPlanned, !isOnPurpose { tally.errors.note(SimulationFault(error)) }
        let event: UplinkEvent = if error.isTakeover {
            .takenOver
        } else if error.layer == .brokerLogin {
            .refused("\(error)")
        } else {
            .lost("\(error)")
        }
        boards[place].connectionChanged(event, at: moment, &tally)
        settle(place, at: moment)
    }

    /// Tells the readiness queue whether the connection wants to read or write.
    private func watch(_ uplink: FleetUplink, _ place: Int) {
        guard let descriptor = uplink.connection?.descriptor,
            let interest = uplink.connection?.interest
        else {
            uplink.watched = nil
            return
        }
        if let known = uplink.watched, known == (descriptor, interest.read, interest.write) {
            return
        }
        do throws(SystemError) {
            try queue.watch(
                descriptor, token: UInt64(place), read: interest.read, write: interest.write)
            uplink.watched = (descriptor, interest.read, interest.write)
        } catch {
            tally.errors.note(.broker(layer: "TCP", text: "\(error)"))
        }
    }
}
