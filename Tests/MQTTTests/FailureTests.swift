import Foundation
import FreePorts
import Glibc
import LinuxIO
import MQTT
import Sessions
import Synchronization
import Testing
import Wire

@Suite("Connection failure")
struct FailureTests {
    @Test("names TCP when nobody listens")
    func refused() throws {
        let uri = try BrokerURI("mqtt://127.0.0.1:\(FreePort.next())")
        #expect(try TestClient.failure(options(uri)) == .tcp("Connection refused"))
    }

    @Test("names TCP when there is no socket file")
    func noSocket() throws {
        let uri = try BrokerURI("unix:/tmp/no-such-\(UUID()).sock")
        #expect(throws: MQTTError.tcp("No such file or directory")) {
            _ = try TestClient(options(uri))
        }
    }

    @Test("names the lookup when the host has no address")
    func unknownHost() throws {
        let uri = try BrokerURI("mqtt://no-such-host.invalid")
        do {
            _ = try TestClient(options(uri))
            Issue.record("connected to nowhere")
        } catch let error as MQTTError {
            #expect(error.layer == .nameLookup)
        }
    }

    @Test("of a name's addresses is told where the attempt came furthest", arguments: [
        (MQTTError.tcp("refused"), MQTTError.tls("no trust"), MQTTError.tls("no trust")),
        (.tls("no trust"), .tcp("refused"), .tls("no trust")),
        (.mqtt("busy", reasonCode: 0x89), .tls("no trust"), .mqtt("busy", reasonCode: 0x89)),
        (.mqtt("busy", reasonCode: 0x89), .mqtt("old", reasonCode: 0x84),
            .mqtt("old", reasonCode: 0x84)),
        (.tcp("first"), .tcp("second"), .tcp("first")),
    ])
    func further(first: MQTTError, second: MQTTError, told: MQTTError) {
        #expect(first.orFurther(second) == told)
    }

    @Test("sends to the next address only where nobody judged the login", arguments: [
        (MQTTError.tcp(""), true), (.tls(""), true), (.mqtt("", reasonCode: 0), true),
        (.mqtt("", reasonCode: 0x88), true), (.brokerLogin("", reasonCode: 0x86), false),
        (.nameLookup(""), false), (.invalid(""), false), (.notConnected, false),
    ])
    func ofAddress(error: MQTTError, goesOn: Bool) {
        #expect(error.mayBeOfAddress == goesOn)
    }

    @Test("names the login when the password is wrong", arguments: [
        ProtocolVersion.v5, .v311,
    ])
    func wrongPassword(version: ProtocolVersion) throws {
        let broker = try TestBroker(listenerLines: ["password_file FOLDER/passwords"]) {
            let hash = Process()
            hash.executableURL = URL(fileURLWithPath: "/usr/bin/mosquitto_passwd")
            hash.arguments = ["-b", "-c", $0 + "/passwords", "board", "right"]
            try hash.run()
            hash.waitUntilExit()
        }
        for (name, password) in [("board", "wrong"), ("stranger", "right")] {
            var login = try options(broker.uri)
            login.version = version
            login.username = name
            login.password = SecretBytes(Array(password.utf8))
            let client = try TestClient(login)
            let error = try #require(try client.ended())
            guard case .refused(let code, _)? = client.events.last else {
                Issue.record("\(client.events)")
                return
            }
            #expect(error.layer == .brokerLogin && client.events.count == 1)
            #expect(ReasonCode.isLogin(code))
        }
        var login = try options(broker.uri)
        login.version = version
        login.username = "board"
        login.password = SecretBytes(Array("right".utf8))
        _ = try TestClient.connected(login)
    }

    /// Each code by which a broker may refuse to let a client in, as it comes and as it is told.
    /// Source: MQTT 5 §3.2.2.2, MQTT 3.1.1 §3.2.2.3.
    static let refusalCodes: [(ProtocolVersion, UInt8, UInt8)] = newer + [
        (.v311, 1, 0x84), (.v311, 2, 0x85), (.v311, 3, 0x88), (.v311, 4, 0x86),
        (.v311, 5, 0x87), (.v311, 6, 0x80), (.v311, 0x7F, 0x80),
    ]
    private static let newer: [(ProtocolVersion, UInt8, UInt8)] =
        (Array(0x80...0x8C as ClosedRange<UInt8>) + [0x97]).map { (.v5, $0, $0) }

    @Test("is a refusal for each code of a CONNACK", arguments: refusalCodes)
    func refusals(version: ProtocolVersion, sent: UInt8, told: UInt8) throws {
        let broker = try FakeBroker { _ in
            version == .v5 ? [0x20, 0x03, 0x00, sent, 0x00] : [0x20, 0x02, 0x00, sent]
        }
        var options = try options(BrokerURI("mqtt://127.0.0.1:\(broker.port)"))
        options.version = version
        let client = try TestClient(options)
        let error = try #require(try client.ended())
        guard case .refused(let code, _)? = client.events.last else {
            Issue.record("\(client.events)")
            return
        }
        #expect(code == told && error.isRefusal)
        let logins: [UInt8] = [0x85, 0x86, 0x87, 0x8A, 0x8C]
        #expect((error.layer == .brokerLogin) == logins.contains(told))
    }

    @Test("is an event, once, when the broker goes")
    func brokerDies() throws {
        let broker = try TestBroker()
        let client = try TestClient.connected(options(broker.uri))
        broker.stop()
        #expect(try client.ended()?.layer == .tcp)
        #expect(client.events.compactMap(\.failure).count == 1)
        #expect(client.descriptor == nil)
        #expect(throws: MQTTError.notConnected) { try client.connection.write() }
        #expect(throws: MQTTError.notConnected) {
            _ = try client.connection.publish(OutgoingMessage(topic: "a", payload: []))
        }
    }

    @Test("is an event, not a trap, when the broker breaks the protocol", arguments: [
        [0x20, 0x03, 0x00, 0x00], [], [0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        [0x20, 0x02, 0x00, 0x05], [0x30, 0x05, 0x00, 0x01, 0x61, 0x00, 0x01],
        FakeBroker.welcome + [0x32, 0x05, 0x00, 0x02, 0xC3, 0x28, 0x00],
        FakeBroker.welcome + [0x30, 0x03, 0x00, 0x00, 0x00],
        FakeBroker.welcome + [0x30, 0x04, 0x00, 0x01, 0x00, 0x00],
        FakeBroker.welcome + [0x36, 0x06, 0x00, 0x01, 0x61, 0x00, 0x01, 0x00],
        FakeBroker.welcome + [0x30, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        FakeBroker.welcome + [0x40, 0x01, 0x00], FakeBroker.welcome + [0x90, 0x02, 0x00, 0x00],
        FakeBroker.welcome + [0xF0, 0x00], FakeBroker.welcome + [0xE0, 0x01, 0x8B],
        FakeBroker.welcome + [0x30, 0x0A, 0x00, 0x01, 0x61, 0x7F, 0x26, 0x00, 0x01, 0x61, 0, 0],
    ] as [[UInt8]])
    func malformed(bytes: [UInt8]) throws {
        // The answer, and then the broker is gone.
        let answered = Mutex(false)
        let broker = try FakeBroker { _ in
            answered.withLock { isAnswered in
                defer { isAnswered = true }
                return isAnswered || bytes.isEmpty ? nil : bytes
            }
        }
        let uri = try BrokerURI("mqtt://127.0.0.1:\(broker.port)")
        let client = try TestClient(options(uri))
        // A packet that is not whole keeps a client waiting, and nothing else.
        try? client.run(for: .milliseconds(200)) { $0.hasEnded || $0.isConnected }
        if client.isConnected {
            _ = try client.connection.publish(OutgoingMessage(topic: "a", payload: []))
            #expect(try client.ended() != nil)
        }
        #expect(client.messages.isEmpty)
    }

    @Test("says which version a broker refused")
    func versionRefused() throws {
        let broker = try FakeBroker { packet in
            // The protocol level stands behind the name. Source: MQTT 5 §3.1.2.2.
            packet.dropFirst(8).first == 5 ? [0x20, 0x02, 0x00, 0x01] : [0x20, 0x02, 0, 0]
        }
        let uri = try BrokerURI("mqtt://127.0.0.1:\(broker.port)")
        guard case .mqtt(_, ReasonCode.unsupportedProtocolVersion)?
                = try TestClient.failure(options(uri)) else {
            Issue.record("not refused")
            return
        }
        var old = options(uri)
        old.version = .v311
        #expect(try TestClient.connected(old).ack?.version == .v311)
    }

    @Test("pings an idle broker and gives up on one that does not answer")
    func keepAlive() throws {
        let pings = Mutex(0)
        let broker = try FakeBroker { packet in
            guard packet.first == 0xC0 else { return FakeBroker.welcome }
            return pings.withLock { count in
                count += 1
                return count == 1 ? [0xD0, 0x00] : []
            }
        }
        var short = try options(BrokerURI("mqtt://127.0.0.1:\(broker.port)"))
        short.keepAlive = 5
        let client = try TestClient.connected(short)
        let before = client.wakeups
        try client.run(for: .seconds(30)) { $0.hasEnded }
        #expect(client.end == .tcp("the broker did not answer a ping"))
        #expect(pings.withLock { $0 } == 2)
        #expect(client.wakeups - before < 15)
    }
}
