import ConfigurationFiles
import Doctor
import DoctorBreakages
import Foundation
import Gate
import Sessions
import Testing
import Wire

@testable import AgentCommands
@testable import AgentService

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
        facts.busLogin = .letIn(.init())
        facts.anonymousBus = .refused("broker login: not authorised")
        facts.mosquittoVersion = "2.0.18"
        facts.mosquittoAborts = false
        facts.reach = Reach(
            lookup: .done("b.example is 192.0.2.1"), tcp: .done("it answers"), tls: .done("TLS"))
        facts.reach?.certificateLeft = .seconds(60 * 86_400)
        facts.disk = DiskFacts(folder: "/state", available: 8 << 30, wanted: 256 << 20)
        facts.disk?.errors = 0
        facts.disk?.lifeUsed = 2
        facts.disk?.spareState = 1
        facts.versions = [("postern-agent", "1.0.0"), ("SQLite", "3.40.1")]
        facts.now = now
        let session = Session(
            objectID: try #require(ObjectID("abcdefghij")), user: try #require(UserID("u")),
            restricted: true, createdWith: CreatedWith(.create, by: .password),
            installationID: nil, createdAt: now, expiresAt: now + .seconds(30 * 86_400))
        facts.status = JSONObject([
            "state": .string("available"), "session": session.json,
            "uplink": .string("connected"), "clock": .string("set"),
            "installationId": .string("3f2a"), "version": .string("1.0.0"),
            "validatedAt": .time(now), "offlineUntil": .time(now + .seconds(7 * 86_400)),
            "key": .object(["source": .string("tpm2"), "bound": .bool(true)]),
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
        Dictionary(uniqueKeysWithValues: Self.report(facts).rows.map {
            ($0.check.id, $0.finding.result)
        })
    }

    private static func report(_ facts: BoardFacts) -> DoctorReport {
        DoctorReport(BoardCheck.all, facts)
    }

    @Test("finds nothing wrong where all is well")
    func healthy() throws {
        let report = Self.report(try Self.healthy())
        for row in report.rows {
            #expect(row.finding.result == .ok, "\(row.check.id): \(row.finding.found)")
        }
        #expect(report.verdict() == .ok)
        #expect(report.json.asObject?["result"] == .string("ok"))
    }

    static let breakages: [Breakage<BoardFacts>] = [
        Breakage("config-agent", .badConfiguration) {
            $0.agentFault = "agent.toml:1:1: x"
        },
        Breakage("config-policy", .badConfiguration) {
            $0.policyFault = "policy.toml:1:1: x"
        },
        Breakage("file-modes", .badConfiguration) { $0.modeFaults = ["too open"] },
        Breakage("agent-running", .failed) { $0.askingFault = "no answer" },
        Breakage("policy-in-force", .failed) {
            $0.change("policy") { $0["fault"] = .string("policy.toml:4:10: x") }
        },
        Breakage("policy-in-force", .failed) { $0.digest = "2233" },
        Breakage("policy-in-force", .warnings) {
            $0.change("policy") { $0["waiting"] = .array([.string("name")]) }
        },
        Breakage("routes", .failed) {
            $0.change("policy") { $0["routes"] = .integer(3) }
        },
        Breakage("configuration-backup", .warnings) {
            $0.settings?.backsUpConfiguration = true
            $0.set("backup", .string("not sent yet"))
        },
        Breakage("configuration-backup", .warnings) {
            $0.settings?.backsUpConfiguration = true
            $0.set("backup", .string("too large"))
        },
        Breakage("local-broker", .failed) { $0.busLogin = .refused("no") },
        Breakage("local-broker", .failed) { $0.busLogin = .unreachable("TCP: no") },
        Breakage("local-broker", .warnings) {
            $0.anonymousBus = .letIn(.init(unwritable: [BusProbe.topic]))
        },
        Breakage("bus-queue", .warnings) {
            $0.status?.members["bus"] = .object(["dropped": .integer(3)])
        },
        Breakage("clock", .failed) { $0.set("clock", .string("unset")) },
        Breakage("claim-file", .warnings) { $0.claimFile = "/etc/postern/claim" },
        Breakage("session", .failed) {
            $0.set("state", .string("unavailable"))
            $0.set("reason", .string("revoked"))
        },
        Breakage("session", .warnings) {
            $0.now = Self.now + .seconds(30 * 86_400 - 3600)
        },
        Breakage("uplink", .failed) { $0.set("uplink", .string("TCP: refused")) },
        Breakage("uplink", .warnings) { $0.set("uplinkNote", .string("MQTT 3.1.1")) },
        Breakage("queue", .failed) { $0.set("queueFault", .string("damaged")) },
        Breakage("queue", .warnings) {
            $0.change("queue") { $0["bytes"] = .integer(230 << 20) }
        },
        Breakage("bus-acl", .failed) {
            $0.busLogin = .letIn(.init(unwritable: [BusProbe.topic]))
        },
        Breakage("bus-acl", .failed) {
            $0.busLogin = .letIn(.init(unsubscribable: ["zigbee2mqtt/+"]))
        },
        Breakage("identity", .failed) { $0.set("identityShared", .bool(true)) },
        Breakage("identity", .failed) { $0.set("busShared", .bool(true)) },
        Breakage("issued", .warnings) { $0.set("notIssuedThere", .bool(true)) },
        Breakage("session-outlasts", .warnings) {
            $0.set("offlineUntil", .time(Self.now + .seconds(1800)))
        },
        Breakage("vault", .failed) { $0.vaultFault = "vault: damaged" },
        Breakage("vault", .failed) {
            $0.set("state", .string("unavailable"))
            $0.set("reason", .string("unreadable"))
        },
        Breakage("key-source", .warnings) {
            $0.set("key", .object(["source": .string("file"), "bound": .bool(false)]))
        },
        Breakage("key-source", .warnings) {
            $0.change("key") { $0["better"] = .array([.string("tpm2")]) }
        },
        Breakage("disk-space", .warnings) { $0.disk?.available = 100 << 20 },
        Breakage("disk-space", .failed) { $0.disk?.available = 4 << 20 },
        Breakage("disk-health", .failed) { $0.disk?.isReadOnly = true },
        Breakage("disk-health", .failed) { $0.disk?.errors = 3 },
        Breakage("disk-health", .warnings) { $0.disk?.lifeUsed = 9 },
        Breakage("disk-health", .failed) { $0.disk?.spareState = 3 },
        Breakage("name-lookup", .failed) {
            $0.reach = Reach(
                lookup: .failed("no address"), tcp: .skipped("-"), tls: .skipped("-"))
            $0.set("uplink", .string("name lookup: no address"))
        },
        Breakage("tcp", .failed) {
            $0.reach?.tcp = .failed("refused")
            $0.reach?.tls = .skipped("nobody answers")
            $0.set("uplink", .string("TCP: refused"))
        },
        Breakage("tls", .failed) {
            $0.reach?.tls = .failed("the certificate: certificate has expired")
            $0.set("uplink", .string("TLS: the certificate: certificate has expired"))
        },
        Breakage("tls", .warnings) { $0.reach?.certificateLeft = .seconds(86_400) },
        Breakage("tls", .warnings) {
            $0.reach?.tls = .skipped("in clear")
            $0.reach?.isInClear = true
        },
        Breakage("broker-login", .failed) {
            $0.set("uplink", .string("broker login: Not authorized"))
        },
        Breakage("topics-allowed", .failed) {
            $0.set("uplink", .string("broker login: the inbox may not be subscribed"))
        },
        Breakage("topics-allowed", .failed) {
            $0.set("uplink", .string("connected; writes are held: refused"))
            $0.set("hold", .string("refused"))
        },
        Breakage("versions", .warnings) { $0.set("version", .string("0.9.0")) },
    ]

    @Test("sees each fault, and with it no other", arguments: breakages)
    func breakage(_ breakage: Breakage<BoardFacts>) throws {
        #expect(try breakage.misjudged(by: BoardCheck.all, in: Self.healthy()).isEmpty)
    }

    @Test("has a fault for each of its checks")
    func complete() {
        #expect(Set(BoardCheck.all.map(\.id))
            == Set(Self.breakages.map(\.id)).union(["libmosquitto"]))
        #expect(Set(BoardCheck.all.map(\.id)).count == BoardCheck.all.count)
        #expect(BoardCheck.all.allSatisfy { $0.id.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil })
    }

    @Test("only notes an old library, because nobody can install a newer one")
    func library() throws {
        var facts = try Self.healthy()
        facts.mosquittoAborts = true
        #expect(results(facts)["libmosquitto"] == .note)
        #expect(Self.report(facts).verdict(warningsAreErrors: true) == .ok)
    }

    @Test("says of a new board that nobody has claimed it, and nothing worse")
    func unclaimed() throws {
        var facts = try Self.healthy()
        facts.set("state", .string("unavailable"))
        facts.set("reason", .string("unclaimed"))
        facts.set("uplink", .string("broker login: Not authorized"))
        let unwell = Self.report(facts).rows.filter { $0.finding.result > .skipped }
        #expect(unwell.map(\.check.id) == ["session"])
        #expect(unwell.first?.finding.next?.contains("pair") == true)
        #expect(results(facts)["issued"] == .skipped)
    }

    @Test("tries this board's login itself where no agent runs", arguments: [
        (BrokerLoginTest.Answer.letIn(.init()), CheckResult.ok, CheckResult.ok),
        (.refused("broker login: no"), .failed, .skipped),
        (.letIn(.init(unsubscribable: ["inbox"])), .ok, .failed),
    ])
    func ownLogin(answer: BrokerLoginTest.Answer, login: CheckResult, topics: CheckResult) throws {
        var facts = try Self.healthy()
        facts.isRunning = false
        facts.uplinkLogin = answer
        let results = results(facts)
        #expect(results["broker-login"] == login)
        #expect(results["topics-allowed"] == topics)
        #expect(results["uplink"] == .skipped)
    }

    @Test("says that whoever has no login may write as any program")
    func openBus() throws {
        var facts = try Self.healthy()
        facts.anonymousBus = .letIn(.init())
        #expect(results(facts)["bus-acl"] == .warning)
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
        #expect(results(BoardFacts(place, [.agent, .bus]))["config-agent"] == .failed)
        try folder.write("agent.toml", settings)
        try folder.write("policy.toml", "default = \"deny\"\n")
        var found = results(BoardFacts(place, [.agent, .bus]))
        #expect(found["config-agent"] == .ok)
        #expect(found["config-policy"] == .ok)
        #expect(found["file-modes"] == .ok)
        #expect(found["local-broker"] == .failed)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/state"))
        try folder.write("policy.toml", "default = 1\n", mode: 0o646)
        let facts = BoardFacts(place, [.agent, .bus])
        #expect(facts.policyFault?.contains("policy.toml:1:11: ") == true)
        found = results(facts)
        #expect(found["config-policy"] == .failed)
        #expect(found["file-modes"] == .failed)
        #expect(found["config-agent"] == .ok)
    }
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
