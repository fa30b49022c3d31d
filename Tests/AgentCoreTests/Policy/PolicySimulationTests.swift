import Gate
import Testing
import Wire

@testable import AgentCore

@Suite("Policy simulation")
struct PolicySimulationTests {
    private func rule(
        _ line: Int, _ name: String, _ allow: Set<Operation>, rate: String? = nil,
        fields: [String: FieldType]? = nil
    ) throws -> Rule {
        Rule(
            id: .policy(line: line), app: nil, className: ClassName(name),
            allow: allow, fields: fields, maxBytes: nil, rate: try rate.map { try Rate($0) })
    }

    private func simulation(_ rules: [Rule]) -> PolicySimulation {
        let policy = Policy(allowsByDefault: false, apps: [:], rules: rules)
        return PolicySimulation(PolicyTrial(
            gate: Gate(policy: policy, scope: nil), routes: RouteTable(), isScopeJudged: false))
    }

    private func message(
        _ topic: String, at second: String = "00", _ payload: String = "{}", retain: Int = 0
    ) throws -> RecordedMessage {
        let quoted = payload.replacing("\"", with: "\\\"")
        let line = #"{"tst":"2026-11-21T17:05:\#(second).000000Z+0000","topic":"\#(topic)","#
            + #""retain":\#(retain),"payload":"\#(quoted)"}"#
        return try RecordedMessage(Array(line.utf8), most: Gate.payloadLimit + 1)
    }

    private static let reading = "postern/app/thermo/create/Reading"

    @Test("counts what passes, and what is refused by what it has in common")
    func counts() throws {
        var simulation = simulation([
            try rule(3, "Reading", [.create], fields: ["v": FieldType("number")]),
            try rule(7, "Log", [.create]), try rule(9, "Other", []),
        ])
        for payload in ["{\"v\":1}", "{\"v\":\"x\"}", "{\"v\":\"y\"}", "{}"] {
            simulation.take(try message(Self.reading, payload))
        }
        simulation.take(try message("postern/app/thermo/create/Log"))
        simulation.take(try message("postern/app/thermo/create/Bad+Name"))
        #expect(simulation.writes == 6 && simulation.allowed == 2 && simulation.refused == 4)
        let rows = simulation.refusals.map {
            "\($0.count) \($0.names.app) \($0.names.className) \($0.code) \($0.rule)"
        }
        #expect(rows == [
            "2 thermo Reading 111 policy.toml:3", "1 thermo  103 builtin:topic",
            "1 thermo Reading 142 policy.toml:3",
        ])
        let first = try #require(simulation.refusals.first)
        #expect(first.topic == Self.reading && first.field == "v")
        #expect(simulation.use(of: .policy(line: 3)) == RuleUse(matched: 4, refused: 3))
        #expect(simulation.use(of: .policy(line: 7)) == RuleUse(matched: 1, refused: 0))
        #expect(simulation.use(of: .policy(line: 9)) == RuleUse())
    }

    @Test("counts rates by the time of each message, and never goes back")
    func rates() throws {
        var simulation = simulation([try rule(3, "Reading", [.create], rate: "2/s")])
        for _ in 0..<5 { simulation.take(try message(Self.reading, at: "10")) }
        #expect(simulation.allowed == 2)
        // An earlier time gives nothing back.
        simulation.take(try message(Self.reading, at: "09"))
        #expect(simulation.allowed == 2)
        for _ in 0..<5 { simulation.take(try message(Self.reading, at: "11")) }
        #expect(simulation.allowed == 4)
        #expect(simulation.refusals.map(\.code) == [155])
        #expect(simulation.use(of: .policy(line: 3)) == RuleUse(matched: 11, refused: 7))
        let span = try #require(simulation.span)
        #expect(span.upperBound - span.lowerBound == .seconds(2))
    }

    @Test("passes over what the agent passes over")
    func passedOver() throws {
        var simulation = simulation([])
        simulation.take(try message(Self.reading, retain: 1))
        simulation.take(try message("postern/app/thermo/get/session"))
        simulation.take(try message("postern/health"))
        #expect(simulation.messages == 3 && simulation.writes == 0)
        #expect(simulation.retained == 1 && simulation.otherTopics == 2)
    }

    @Test("refuses no topic that only a scope grants, unless a scope is judged", arguments: [
        (false, true), (true, false),
    ])
    func grants(isScopeJudged: Bool, isAllowed: Bool) throws {
        let from = try #require(TopicFilter("meters/+"))
        let app = try #require(AppName("meter"))
        let route = try Route(
            RouteDeclaration(
                from: from, app: app, className: "Energy", operation: .create, objectID: nil,
                to: "home/{1}/energy"),
            line: 4, reserved: [])
        let trial = PolicyTrial(
            gate: Gate(policy: nil, scope: nil), routes: RouteTable([route]),
            isScopeJudged: isScopeJudged)
        var simulation = PolicySimulation(trial)
        simulation.take(try message("meters/hall"))
        #expect(simulation.writes == 1 && simulation.allowed == (isAllowed ? 1 : 0))
        #expect(simulation.refusals.map(\.rule) == (isAllowed ? [] : ["scope:topics"]))
        let decision = try #require(trial.decision(on: .topic("meters/hall"), []))
        #expect((decision == .allow(.builtin(.allowed))) == isAllowed)
    }

    @Test("does not grow with what it is given")
    func bounds() throws {
        var simulation = simulation([])
        for number in 0..<3000 {
            simulation.take(try message("postern/app/app-\(number)/create/A"))
        }
        #expect(simulation.refused == 3000)
        #expect(simulation.refusals.count == PolicySimulation.rowLimit)
        #expect(simulation.untoldRefusals == 2000)
    }
}
