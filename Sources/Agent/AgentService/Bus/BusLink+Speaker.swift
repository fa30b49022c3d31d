import AgentCore
import MQTT
import Sessions
import Wire

// The connection that publishes.
extension BusLink {
    mutating func send(_ publication: BusPublication) throws(MQTTError) {
        _ = try speak(publication)
    }

    private mutating func speak(_ publication: BusPublication) throws(MQTTError) -> Int32? {
        let message = OutgoingMessage(
            topic: publication.topic, payload: publication.payload, qos: .atLeastOnce,
            retain: publication.retain,
            properties: MessageProperties(
                correlationData: publication.correlation,
                messageExpiry: publication.expiry,
                userProperties: publication.retain ? [] : [BusMark.property]))
        guard let packetID = try speaker?.publish(message) else { return nil }
        answers.add(publication, as: packetID)
        return packetID
    }

    /// Publishes a command. One event says whether a subscriber got it.
    mutating func publish(
        _ publication: BusPublication, command id: MessageID, at now: Duration,
        into events: inout [AgentEvent]
    ) -> String? {
        // A publication that waited in this process would leave after the SUBSCRIBE below.
        guard reader != nil, let limit = speaker?.ack?.receiveMaximum,
            let count = speaker?.unacknowledged, count < Int(limit),
            answers.hasRoom(for: publication)
        else {
            events.append(.commandPublished(id, .unsent))
            return nil
        }
        var outcome = CommandPublication.unsent
        do throws(MQTTError) {
            // mosquitto counts a subscription with No Local as a subscriber of this connection's
            // own messages. Without it the PUBACK says whether another client subscribes.
            _ = try speaker?.unsubscribe(BusTopic.strays)
            outcome = .lost
            if let packetID = try speak(publication) { handOvers[packetID] = id }
            try subscribeStrays()
            return nil
        } catch {
            if !handOvers.values.contains(id) { events.append(.commandPublished(id, outcome)) }
            return lost(error, at: now, into: &events)
        }
    }

    private mutating func subscribeStrays() throws(MQTTError) {
        let filters = BusTopic.strays.map { Subscription($0, .atMostOnce) }
        _ = try speaker?.subscribe(filters, sendRetained: false, noLocal: true)
    }

    mutating func listenToSpeaker(
        into events: inout [AgentEvent]
    ) throws(MQTTError) {
        try speaker?.read(atMost: 64, bytes: Self.batchBytes)
        speaker?.takeEvents(into: &heard)
        var strays: [BusMessage] = []
        defer { if !strays.isEmpty { events.append(.strays(strays)) } }
        for event in heard {
            if case .connected = event {
                try connectReader()
                _ = try speaker?.subscribe(
                    BrokerMetrics.topics.map { Subscription($0, .atMostOnce) })
                try subscribeStrays()
            }
            if case .message(let message) = event {
                let told = BrokerMetrics.event(of: message)
                if let told { events.append(told) } else { strays.append(BusMessage(message)) }
            }
            if case .published(let packetID, let code) = event {
                answers.settle(packetID)
                if let id = handOvers.removeValue(forKey: packetID) {
                    events.append(.commandPublished(id, CommandPublication(puback: code)))
                }
            }
            if let failure = event.failure { throw failure }
        }
    }
}

extension CommandPublication {
    /// From 0x80 the broker did not take the message. Source: MQTT 5 §3.4.2.1.
    fileprivate init(puback code: UInt8) {
        let noMatchingSubscribers: UInt8 = 0x10
        self = code == noMatchingSubscribers || code >= 0x80 ? .unheard : .taken
    }
}
