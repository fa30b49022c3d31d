import BrokerClient
import Commands
import Foundation
import FreePorts
import LinuxIO
import Mosquitto
import Sessions
import Testing
import Wire

@Suite("Watch", .serialized)
struct WatchTests {
    /// A mosquitto on a free port while `body` runs.
    static func broker(_ body: @Sendable (BrokerURI) async throws -> Void) async throws {
        let port = try FreePort.next()
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("watch-\(UUID().uuidString).conf").path
        let log = file + ".log"
        let lines = """
            listener \(port) 127.0.0.1
            allow_anonymous true
            user root
            log_dest file \(log)
            log_type all

            """
        try lines.write(toFile: file, atomically: true, encoding: .utf8)
        defer {
            for path in [file, log] { try? FileManager.default.removeItem(atPath: path) }
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/sbin/mosquitto")
        process.arguments = ["-c", file]
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            // A thread of Swift's pool blocks signals, and what it starts inherits that: only
            // SIGKILL is sure to arrive.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        do {
            try await body(try BrokerURI("mqtt://127.0.0.1:\(port)"))
        } catch {
            let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? "nothing"
            Issue.record("mosquitto (running: \(process.isRunning)) said: \(said)")
            throw error
        }
    }

    /// Connects as soon as the broker listens, within a minute.
    static func publisher(_ uri: BrokerURI) async throws -> BrokerClient {
        let deadline = SystemClock.monotonic + .seconds(60)
        while true {
            do throws(MQTTError) {
                return try await BrokerClient.connect(
                    ConnectOptions(uri: uri, clientID: "board"))
            } catch {
                guard SystemClock.monotonic < deadline else { throw error }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test("shows what a board sends, with who sent it, and nothing else")
    func shows() async throws {
        try await Self.broker { uri in
            let publisher = try await Self.publisher(uri)
            try await Person.loggedIn { person in
                await person.console.frontend.useBroker("\(uri)")
                async let seen = person.types("watch --json --count 2 --for 30s")
                let deadline = SystemClock.monotonic + .seconds(20)
                while !person.screen.contains("watching"), SystemClock.monotonic < deadline {
                    try await Task.sleep(for: .milliseconds(10))
                }
                for (topic, payload) in [
                    ("postern/v1/\(StubFrontend.iid)/status", "{}"),
                    ("postern/v1/\(StubFrontend.iid)/data/Reading/create", "{\"celsius\":21}"),
                    ("postern/v1/\(StubFrontend.iid)/data/Reading/delete/r1/hall", "\u{1b}[2J"),
                ] {
                    _ = try await publisher.publish(OutgoingMessage(
                        topic: topic, payload: Array(payload.utf8),
                        properties: MessageProperties(userProperties: [
                            UserProperty("sid", "sEsS000002"), UserProperty("seq", "7"),
                            UserProperty("ts", "1700000100000"), UserProperty("app", "thermo"),
                        ])))
                }
                let time = StubFrontend.start + 120
                #expect(await seen == """
                    ! ✓ watching \(uri)
                    {"app":"thermo","class":"Reading","further":null,\
                    "installationId":"\(StubFrontend.iid)","objectId":null,"op":"create",\
                    "payload":"{\\"celsius\\":21}",\
                    "payloadBytes":14,"seq":7,"sid":"sEsS000002","time":\(time),\
                    "truncated":false,"ts":1700000100000}
                    {"app":"thermo","class":"Reading","further":"hall",\
                    "installationId":"\(StubFrontend.iid)","objectId":"r1","op":"delete",\
                    "payload":"\\u001b[2J","payloadBytes":4,\
                    "seq":7,"sid":"sEsS000002","time":\(time),"truncated":false,\
                    "ts":1700000100000}
                    [0]
                    """)
            }
            await publisher.close()
        }
    }

    @Test("ends after its span, and names the layer when there is no broker")
    func ends() async throws {
        try await Self.broker { uri in
            await (try Self.publisher(uri)).close()
            try await Person.loggedIn { person in
                await person.console.frontend.useBroker("\(uri)")
                #expect(await person.types("watch --for 1s") == "! ✓ watching \(uri)\n[0]")
                await person.console.frontend.useBroker("mqtt://127.0.0.1:9")
                let seen = await person.types("watch --for 1s")
                #expect(seen.contains("postern: TCP:"))
                #expect(seen.hasSuffix("[5]"))
                let other = "7f1f7c0e-2b7a-4d4e-9c55-0123456789ab"
                #expect(await person.types("watch --board \(other)")
                    == "! postern: policy: this board is not yours (119)\n[77]")
            }
        }
    }
}
