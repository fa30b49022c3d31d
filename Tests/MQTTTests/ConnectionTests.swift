import Foundation
import LinuxIO
@testable import MQTT
import Sessions
import Testing
import Wire

@Suite("Connection")
struct ConnectionTests {
    @Test("carries a message with all its properties, both ways", arguments: ["TCP", "Unix"])
    func properties(kind: String) throws {
        let broker = try TestBroker()
        let uri = try kind == "TCP" ? broker.uri : broker.socketURI
        let client = try TestClient.connected(options(uri))
        let ack = try #require(client.ack)
        #expect(!ack.sessionPresent && ack.version == .v5 && ack.retainAvailable)
        try client.subscribe("a/#")
        let properties = MessageProperties(
            responseTopic: "reply/to", correlationData: [0, 1, 255], messageExpiry: 3600,
            contentType: "text/plain", isText: true,
            userProperties: [UserProperty("sid", "abc"), UserProperty("sid", "wörter"),
                             UserProperty("empty", "")])
        let payload = Array("grüße".utf8)
        #expect(try client.publish(OutgoingMessage(
            topic: "a/ü", payload: payload, properties: properties)) == 0)
        try client.run { !$0.messages.isEmpty }
        let message = try #require(client.messages.first)
        #expect(message.topic == "a/ü" && message.payload == payload)
        #expect(message.qos == .atLeastOnce && !message.retain && message.packetID > 0)
        var expected = properties
        // The broker counts the expiry down.
        expected.messageExpiry = message.properties.messageExpiry
        #expect(message.properties == expected)
        #expect((3590...3600).contains(message.properties.messageExpiry ?? 0))
        #expect(message.properties.userProperty("sid") == "abc")
        try client.disconnect()
        #expect(client.end == .mqtt("disconnected", reasonCode: 0))
        #expect(throws: MQTTError.notConnected) { try client.connection.read(atMost: 1) }
    }

    @Test("reports PUBACK reason codes, refusals by SUBACK, and departures")
    func reasons() throws {
        let broker = try TestBroker(listenerLines: [
            "allow_anonymous true", "acl_file FOLDER/acl",
        ]) { try "topic readwrite free/#\n".write(
            toFile: $0 + "/acl", atomically: true, encoding: .utf8) }
        let client = try TestClient.connected(options(broker.uri))
        #expect(try client.publish(OutgoingMessage(
            topic: "free/1", payload: [], qos: .atMostOnce)) == 0)
        #expect(client.unacknowledged == 0)
        try client.unsubscribe("free/#")
        // Debian's mosquitto hangs up behind this PUBACK; what was booked comes first.
        #expect(try client.publish(OutgoingMessage(topic: "closed", payload: []))
                == ReasonCode.notAuthorized)
    }

    @Test("refuses what MQTT does not carry, before anything is sent", arguments: [
        "", "a/+", "#", "a\0b", "a\u{1}", String(repeating: "x", count: 65_536),
    ])
    func badTopics(topic: String) throws {
        let broker = try TestBroker()
        let client = try TestClient.connected(options(broker.uri))
        #expect(throws: MQTTError.self) {
            _ = try client.connection.publish(OutgoingMessage(topic: topic, payload: []))
        }
        #expect(throws: MQTTError.self) {
            _ = try client.connection.publish(OutgoingMessage(
                topic: "a", payload: [], properties: MessageProperties(responseTopic: topic)))
        }
        #expect(client.unacknowledged == 0)
        #expect(try client.publish(OutgoingMessage(topic: "fine", payload: [])) == 0x10)
    }

    @Test("refuses options that libmosquitto would change in silence")
    func badOptions() throws {
        let uri = try BrokerURI("mqtt://127.0.0.1")
        let changes: [(inout ConnectOptions) -> Void] = [
            { $0.clientID = "" }, { $0.clientID = "a\0b" }, { $0.username = "a\0b" },
            { $0.username = String(repeating: "x", count: 65_536) },
            { $0.password = SecretBytes([1]) },
            { ($0.username, $0.password) = ("a", SecretBytes([1, 0, 2])) },
            { $0.keepAlive = 4 }, { $0.receiveMaximum = 0 },
            { $0.will = OutgoingMessage(topic: "#", payload: []) },
            { $0.will = OutgoingMessage(topic: "a", payload: [UInt8](
                repeating: 0, count: 65_536)) },
            { $0.tls.keyFile = "/key" },
        ]
        for change in changes {
            var changed = options(uri)
            change(&changed)
            #expect(throws: MQTTError.self) { _ = try Connection(changed) }
        }
    }

    @Test("stays below the broker's packet size, to the byte")
    func packetSize() throws {
        let broker = try TestBroker(["max_packet_size 200"])
        let client = try TestClient.connected(options(broker.uri))
        #expect(client.ack?.maximumPacketSize == 200)
        // 1 + 2 + (2 + 1) + 2 + 1 + payload
        let fits = OutgoingMessage(topic: "a", payload: [UInt8](repeating: 0, count: 191))
        #expect(PacketSize.publish(fits, .v5) == 200)
        #expect(try client.publish(fits) == 0x10)
        var tooLarge = fits
        for count in 192...196 {
            tooLarge.payload = [UInt8](repeating: 0, count: count)
            #expect(throws: MQTTError.tooLarge(limit: 200)) {
                _ = try client.connection.publish(tooLarge)
            }
        }
    }

    @Test("leaves a will to be published when it is dropped, and none when it says goodbye")
    func will() throws {
        let broker = try TestBroker()
        let watcher = try TestClient.connected(options(broker.uri, "watcher"))
        try watcher.subscribe("will/#")
        for (topic, isDropped) in [("will/none", false), ("will/dropped", true)] {
            var dying = try options(broker.uri, "dying")
            dying.will = OutgoingMessage(
                topic: topic, payload: [1],
                properties: MessageProperties(contentType: "text/x"))
            let client = try TestClient.connected(dying)
            if !isDropped { try client.disconnect() }
        }
        var asked = try options(broker.uri, "asked")
        asked.will = OutgoingMessage(topic: "will/asked", payload: [])
        let client = try TestClient.connected(asked)
        try client.connection.disconnect(sendWill: true)
        try client.run { $0.hasEnded }
        try watcher.run { $0.messages.count == 2 }
        #expect(watcher.topics == ["will/dropped", "will/asked"])
        #expect(watcher.messages.first?.properties.contentType == "text/x")
    }

    @Test("speaks 3.1.1 when asked to, without properties")
    func version311() throws {
        let broker = try TestBroker()
        var old = try options(broker.uri)
        old.version = .v311
        let client = try TestClient.connected(old)
        #expect(client.ack?.version == .v311)
        try client.subscribe("a")
        let message = OutgoingMessage(
            topic: "a", payload: [7], properties: MessageProperties(contentType: "x"))
        #expect(try client.publish(message) == 0)
        try client.run { !$0.messages.isEmpty }
        #expect(client.messages.first?.payload == [7])
        #expect(client.messages.first?.properties.isEmpty == true)
    }

    @Test("ends with the broker's reason", arguments: [
        (ReasonCode.sessionTakenOver, Layer.mqtt), (ReasonCode.notAuthorized, .brokerLogin),
        (ReasonCode.administrativeAction, .mqtt),
    ])
    func disconnectReason(code: UInt8, layer: Layer) throws {
        let broker = try FakeBroker { _ in FakeBroker.welcome + [0xE0, 0x01, code] }
        let client = try TestClient(options(BrokerURI("mqtt://127.0.0.1:\(broker.port)")))
        #expect(try client.ended()?.layer == layer)
        guard case .disconnected(code, _, layer)? = client.events.last else {
            Issue.record("\(client.events)")
            return
        }
    }
}
