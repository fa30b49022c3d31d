import AdminCommands
import Foundation
import FreePorts
import LinuxIO
import MQTT
import Sessions
import Synchronization
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
        process.standardError = FileHandle.nullDevice
        try process.runBound("/usr/sbin/mosquitto", ["-c", file])
        defer {
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

    /// Publishes these numbers as a board does once `watch` watches, and returns what it says.
    private static func check(
        _ line: String, _ numbers: [String], announced: String = "[]",
        properties: Bool = true
    ) async throws -> String {
        let seen = Mutex("")
        try await broker { uri in
            let publisher = try await Self.publisher(uri)
            let board = "postern/v1/\(StubFrontend.iid)"
            _ = try await publisher.publish(OutgoingMessage(
                topic: "\(board)/status", payload: Array("""
                    {"status":"up","session":"available","version":"1","since":1,"gaps":2,\
                    "gapRanges":\(announced)}
                    """.utf8), retain: true))
            try await Person.loggedIn { person in
                await person.console.frontend.useBroker("\(uri)")
                async let said = person.types(line)
                let deadline = SystemClock.monotonic + .seconds(20)
                while !person.screen.contains("watching"), SystemClock.monotonic < deadline {
                    try await Task.sleep(for: .milliseconds(10))
                }
                for number in numbers {
                    _ = try await publisher.publish(OutgoingMessage(
                        topic: "\(board)/data/Reading/create", payload: Array("1".utf8),
                        properties: MessageProperties(userProperties: !properties ? [] : [
                            UserProperty("sid", "sEsS000002"), UserProperty("seq", number),
                            UserProperty("ts", "1700000119000"),
                        ])))
                }
                let text = await said
                seen.withLock { $0 = text }
            }
            await publisher.close()
        }
        return seen.withLock { $0 }
    }

    @Test("checks that all came, but what the board announces as lost")
    func complete() async throws {
        let seen = try await Self.check(
            "watch --check --count 5 --for 60s", ["7", "8", "11", "12", "12"],
            announced: "[[2,3],[9,10]]")
        #expect(seen.contains("  repeat  seq=12  sid=sEsS000002  1 so far\n"))
        #expect(seen.contains(
            "\n3f1f7c0e  complete, 1 repeat; 5 messages, seq 7 to 12; "))
        let lag = ["min", "p50", "p99", "max", "last"].map { "\($0) 1000 ms" }
        #expect(seen.contains("/s; lag \(lag.joined(separator: ", "))\n"))
        #expect(seen.hasSuffix("\n[0]"))
    }

    @Test("tells what did not come or came late, for programs too, and ends with 1")
    func incomplete() async throws {
        let seen = try await Self.check(
            "watch --check --json --count 4 --for 60s", ["7", "12", "9", "13"],
            announced: "[[10,10]]")
        let lines = try seen.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
            try JSONObject(parsing: Array($0.utf8))
        }
        let found = try lines.filter { try $0.string("type") == "finding" }.map {
            "\(try $0.string("kind")) \(try $0.integer("first"))-\(try $0.integer("last"))"
        }
        #expect(found == ["reordered 9-9", "missing 8-8", "missing 11-11"])
        let summary = try #require(lines.last)
        #expect(try summary.integer("missing") == 2)
        #expect(summary.members["complete"] == .bool(false))
        #expect(try summary.object("lagMilliseconds").integer("max") == 1000)
        #expect(seen.hasSuffix("! postern: check: 1 of 1 boards are not complete\n[1]"))
    }

    @Test("says that it could not check: no properties, or nothing at all")
    func unchecked() async throws {
        let bare = try await Self.check(
            "watch --check --count 2 --for 60s", ["1", "2"], properties: false)
        #expect(bare.contains("NOT COMPLETE, 2 unmarked; 2 messages; "))
        #expect(bare.hasSuffix("! postern: degraded: some messages could not be checked\n[3]"))
        let nothing = try await Self.check("watch --check --for 1s", [])
        #expect(nothing.hasSuffix(
            "! postern: degraded: no message arrived, so nothing was checked\n[3]"))
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
