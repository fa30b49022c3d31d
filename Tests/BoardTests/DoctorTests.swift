import Foundation
import Gate
import Sessions
import Settings
import Testing
import Wire

@testable import Board

@Suite("Doctor")
struct DoctorTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    /// A board where all is well.
    private static func healthy() throws -> BoardFacts {
        var facts = BoardFacts()
        facts.settings = try BoardSettings.parse(
            "[uplink]\nuri = \"mqtts://b.example\"\n", file: "agent.toml",
            environment: { _ in nil })
        facts.digest = "0011"
        facts.isRunning = true
        facts.busLogin = .letIn
        facts.anonymousBus = .refused("broker login: not authorised")
        facts.mosquittoVersion = "2.0.18"
        facts.mosquittoAborts = false
        facts.now = now
        let session = Session(
            objectID: try #require(ObjectID("abcdefghij")), user: try #require(UserID("u")),
            restricted: true, createdWith: CreatedWith(.create, by: .password),
            installationID: nil, createdAt: now, expiresAt: now + .seconds(30 * 86_400))
        facts.status = JSONObject([
            "state": .string("available"), "session": session.json,
            "uplink": .string("connected"), "clock": .string("set"),
            "queue": .object(["messages": .integer(2), "bytes": .integer(1000)]),
            "queueFault": .null,
            "bus": .object(["dropped": .integer(0), "stored": .integer(9)]),
            "policy": .object([
                "rules": .integer(0), "default": .string("allow"), "routes": .integer(0),
                "digest": .string("0011"), "waiting": .array([]),
            ]),
        ])
        return facts
    }

    private func results(_ facts: BoardFacts) -> [String: CheckResult] {
        Dictionary(uniqueKeysWithValues: DoctorReport(facts).findings.map {
            ($0.check.id, $0.finding.result)
        })
    }

    @Test("finds nothing wrong where all is well")
    func healthy() throws {
        let report = DoctorReport(try Self.healthy())
        for (check, finding) in report.findings {
            #expect(finding.result == .ok, "\(check.id): \(finding.found)")
        }
        #expect(report.status == .ok)
        #expect(report.json.asObject?["result"] == .string("ok"))
    }

    /// What is broken, which check sees it, and how doctor ends.
    static let breakages: [Breakage] = [
        Breakage("config-agent", .failed, .badConfiguration) {
            $0.agentFault = "agent.toml:1:1: x"
        },
        Breakage("config-policy", .failed, .badConfiguration) {
            $0.policyFault = "policy.toml:1:1: x"
        },
        Breakage("file-modes", .failed, .badConfiguration) { $0.modeFaults = ["too open"] },
        Breakage("agent-running", .failed, .failed) { $0.askingFault = "no answer" },
        Breakage("policy-in-force", .failed, .failed) {
            $0.change("policy") { $0["fault"] = .string("policy.toml:4:10: x") }
        },
        Breakage("policy-in-force", .failed, .failed) { $0.digest = "2233" },
        Breakage("policy-in-force", .warning, .degraded) {
            $0.change("policy") { $0["waiting"] = .array([.string("name")]) }
        },
        Breakage("routes", .failed, .failed) {
            $0.change("policy") { $0["routes"] = .integer(3) }
        },
        Breakage("local-broker", .failed, .failed) { $0.busLogin = .refused("no") },
        Breakage("local-broker", .failed, .failed) { $0.busLogin = .unreachable("TCP: no") },
        Breakage("local-broker", .warning, .degraded) { $0.anonymousBus = .letIn },
        Breakage("bus-queue", .warning, .degraded) {
            $0.status?.members["bus"] = .object(["dropped": .integer(3)])
        },
        Breakage("clock", .failed, .failed) { $0.set("clock", .string("unset")) },
        Breakage("session", .failed, .failed) {
            $0.set("state", .string("unavailable"))
            $0.set("reason", .string("revoked"))
        },
        Breakage("session", .warning, .degraded) {
            $0.now = Self.now + .seconds(30 * 86_400 - 3600)
        },
        Breakage("uplink", .failed, .failed) { $0.set("uplink", .string("TCP: refused")) },
        Breakage("uplink", .warning, .degraded) { $0.set("uplinkNote", .string("MQTT 3.1.1")) },
        Breakage("libmosquitto", .warning, .degraded) { $0.mosquittoAborts = true },
        Breakage("queue", .failed, .failed) { $0.set("queueFault", .string("damaged")) },
        Breakage("queue", .warning, .degraded) {
            $0.change("queue") { $0["bytes"] = .integer(230 << 20) }
        },
    ]

    @Test("sees each fault, and with it no other", arguments: breakages)
    func breakage(_ breakage: Breakage) throws {
        var facts = try Self.healthy()
        breakage.apply(&facts)
        let report = DoctorReport(facts)
        for (check, finding) in report.findings {
            let expected = check.id == breakage.id ? breakage.result : .ok
            #expect(finding.result == expected, "\(check.id): \(finding.found)")
            #expect((finding.next == nil) == (finding.result == .ok), "\(check.id)")
        }
        #expect(report.status == breakage.status)
        #expect(report.json.asObject?["result"] == .string(breakage.result.rawValue))
    }

    @Test("has a fault for each of its checks")
    func complete() {
        #expect(Set(Check.all.map(\.id)) == Set(Self.breakages.map(\.id)))
        #expect(Set(Check.all.map(\.id)).count == Check.all.count)
        #expect(Check.all.allSatisfy { $0.id.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil })
    }

    @Test("skips what cannot be known without the agent, and says that it does not run")
    func stopped() throws {
        var facts = try Self.healthy()
        facts.isRunning = false
        facts.status = nil
        let results = results(facts)
        #expect(results["agent-running"] == .failed)
        for id in ["policy-in-force", "clock", "session", "queue", "uplink"] {
            #expect(results[id] == .skipped, "\(id)")
        }
    }

    @Test("looks at real files, and names the place of a fault")
    func files() throws {
        let folder = try TemporaryFolder()
        let settings = """
            state_dir = "\(folder.path)/state"
            run_dir = "\(folder.path)/run"
            [bus]
            uri = "mqtt://127.0.0.1:1"
            [uplink]
            uri = "mqtts://b.example"
            """
        var place = BoardPlace()
        place.configDir = folder.path
        place.json = false
        #expect(results(BoardFacts(place))["config-agent"] == .failed)
        try folder.write("agent.toml", settings)
        try folder.write("policy.toml", "default = \"deny\"\n")
        var found = results(BoardFacts(place))
        #expect(found["config-agent"] == .ok)
        #expect(found["config-policy"] == .ok)
        #expect(found["file-modes"] == .ok)
        #expect(found["local-broker"] == .failed)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/state"))
        try folder.write("policy.toml", "default = 1\n", mode: 0o646)
        let facts = BoardFacts(place)
        #expect(facts.policyFault?.contains("policy.toml:1:11: ") == true)
        found = results(facts)
        #expect(found["config-policy"] == .failed)
        #expect(found["file-modes"] == .failed)
        #expect(found["config-agent"] == .ok)
    }
}

/// One thing broken on a board where all is well.
struct Breakage: Sendable, CustomStringConvertible {
    let id: String
    let result: CheckResult
    let status: Board.ExitStatus
    let apply: @Sendable (inout BoardFacts) -> Void

    init(
        _ id: String, _ result: CheckResult, _ status: Board.ExitStatus,
        _ apply: @escaping @Sendable (inout BoardFacts) -> Void
    ) {
        self.id = id
        self.result = result
        self.status = status
        self.apply = apply
    }

    var description: String { "\(id) \(result)" }
}

extension BoardFacts {
    fileprivate mutating func set(_ name: String, _ value: JSONValue) {
        status?.members[name] = value
    }

    fileprivate mutating func change(
        _ name: String, _ body: (inout [String: JSONValue]) -> Void
    ) {
        var members = status?.members[name]?.asObject ?? [:]
        body(&members)
        set(name, .object(members))
    }
}
