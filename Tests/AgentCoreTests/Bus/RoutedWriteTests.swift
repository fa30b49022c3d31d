import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Routed write")
struct RoutedWriteTests {
    private static let reserved = ["postern/v1/#"].compactMap(TopicFilter.init) + BusTopic.own

    private static func route(
        _ line: Int, _ from: String, _ className: String, _ operation: Operation = .create,
        objectID: String? = nil, to: String? = nil
    ) throws -> Route {
        try Route(
            RouteDeclaration(
                from: try #require(TopicFilter(from)), app: try #require(AppName("zigbee")),
                className: className, operation: operation, objectID: objectID, to: to),
            line: line, reserved: reserved)
    }

    /// A provisioned board with routes; its session's scope grants `topics`.
    private func board(granting topics: [String]? = nil) throws -> Bench {
        var bench = try Bench()
        bench.settings.routes = RouteTable([
            try Self.route(1, "plain/+", "Reading"),
            try Self.route(2, "named/+/+", "{1}", .update, objectID: "{2}"),
            try Self.route(3, "behind/#", "Reading", to: "{data}/raw/{1}"),
            try Self.route(4, "home/+", "Reading", to: "home/greenhouse/{1}"),
        ])
        try bench.restart()
        bench.handle(.started)
        bench.handle(.busConnected(resumed: false))
        let claim = try bench.pair()
        bench.connect()
        var provision = try bench.authority.provision("ann", at: bench.wall)
        provision.scope = topics.map { topics in
            ScopeDocument(unchecked: .object(["topics": .array(topics.map { .string($0) })]))
        }
        bench.handle(.inbox(try bench.authority.seal(
            .provision(provision), claim: claim, at: bench.wall)))
        return bench
    }

    private func message(_ topic: String, retained: Bool = false) -> BusMessage {
        BusMessage(
            topic: topic, payload: [1], isRetained: retained, packetID: nil,
            responseTopic: "postern/app/zigbee/a", correlation: nil)
    }

    @Test("goes to the contract's topic, behind it, or where the scope grants it", arguments: [
        ("plain/lamp", "data/Reading/create"), ("named/Lamp/l1", "data/Lamp/update/l1"),
        ("behind/a/b", "data/Reading/create/raw/a/b"), ("home/lamp", nil),
    ])
    func topics(topic: String, levels: String?) throws {
        var bench = try board(granting: ["else/#", "home/greenhouse/+"])
        let effects = bench.handle(.bus([message(topic)]))
        let base = "postern/v1/\(bench.identity.installation)"
        #expect(bench.store.writes.map(\.topic)
            == [levels.map { "\(base)/\($0)" } ?? "home/greenhouse/lamp"])
        #expect(bench.store.writes.map(\.app.description) == ["zigbee"])
        // Nobody asked for an outcome, and a foreign response topic is not looked at.
        #expect(effects.published("postern/app/zigbee/a").isEmpty)
        #expect(effects.published("postern/app/zigbee/rejected").isEmpty)
    }

    @Test("that was accepted is not refused when it comes again under a changed route")
    func redelivery() throws {
        var bench = try board()
        let message = BusMessage(
            topic: "plain/1st", payload: [1], isRetained: false, packetID: 5, responseTopic: nil,
            correlation: nil)
        bench.handle(.bus([message]))
        #expect(bench.store.writes.count == 1)
        bench.settings.routes = RouteTable([try Self.route(1, "plain/+", "{1}")])
        try bench.restart()
        bench.handle(.started)
        let again = bench.handle(.bus([message]))
        #expect(again.published("postern/app/zigbee/rejected").isEmpty)
        bench.handle(.busConnected(resumed: true))
        // What is new is judged by the route as it is.
        let new = bench.handle(.bus([message]))
        #expect(new.published("postern/app/zigbee/rejected").count == 1)
        #expect(bench.store.writes.count == 1)
    }

    @Test("that a crash left in memory only is lost, and said so, if no route takes it any more")
    func undurable() throws {
        var bench = try board()
        let message = BusMessage(
            topic: "plain/1st", payload: [1], isRetained: false, packetID: 5, responseTopic: nil,
            correlation: nil)
        let packets = bench.handle(.bus([message])).commits.joined().flatMap { change in
            if case .append(_, let packets, _) = change { packets } else { [DeliveredPacket]() }
        }
        let packet = try #require(packets.first)
        bench.settings.routes = RouteTable([try Self.route(1, "plain/+", "{1}")])
        try bench.restart(after: packet.sequence, with: [
            DeliveredPacket(
                packetID: packet.packetID, digest: packet.digest, sequence: packet.sequence,
                isDurable: false),
        ])
        bench.handle(.started)
        let again = bench.handle(.bus([message]))
        #expect(again.published("postern/app/zigbee/rejected").count == 1)
        #expect(bench.store.lost == [packet.sequence])
    }

    @Test("that is refused is told to the app that its route stands for, and counted", arguments: [
        ("named/_User/x", 119, "builtin:protected-class", "_User", "update"),
        ("named/_Session/x", 119, "builtin:protected-class", "_Session", "update"),
        ("named/_Join/x", 119, "builtin:reserved-class", "_Join", "update"),
        ("named/1st/x", 103, "agent.toml:2", "", "update"),
        ("named/Lamp/a b", 105, "agent.toml:2", "", "update"),
        ("behind/a//b", 105, "agent.toml:3", "Reading", "create"),
        ("home/lamp", 119, "scope:topics", "Reading", "create"),
    ])
    func refusals(
        topic: String, code: Int64, rule: String, className: String, operation: String
    ) throws {
        for granted in [nil, [], ["home/other/+"]] {
            var bench = try board(granting: granted)
            let effects = bench.handle(.bus([message(topic)]))
            #expect(bench.store.writes.isEmpty)
            let told = effects.published("postern/app/zigbee/rejected")
            #expect(told.count == 1)
            let notice = try JSONObject(parsing: try #require(told.first))
            #expect(try notice.integer("code") == code)
            #expect(try notice.string("rule") == rule)
            #expect(try notice.string("class") == className)
            #expect(try notice.string("op") == operation)
            #expect(try notice.string("topic") == topic)
            let health = bench.run(for: .seconds(6)).published(BusTopic.health).last
            let json = try JSONObject(parsing: try #require(health))
            #expect(try json.integer("refused") == 1)
        }
    }

    @Test("is nothing where no route is, nor retained, nor on a $ topic")
    func nothing() throws {
        var bench = try board()
        let effects = bench.handle(.bus([
            message("other/lamp"), message("plain/lamp/x"), message("plain/lamp\0"),
            message("$SYS/broker/uptime"), message("plain/lamp", retained: true), message(""),
            message("named/_User/x", retained: true),
        ]))
        #expect(bench.store.writes.isEmpty)
        #expect(effects.published("postern/app/zigbee/rejected").isEmpty)
    }

    @Test("elsewhere ends when an update of the scope takes the grant back")
    func withdrawn() throws {
        var bench = try board(granting: ["home/greenhouse/+"])
        bench.handle(.bus([message("home/lamp")]))
        #expect(bench.store.writes.count == 1)
        let session = try #require(try bench.store.load().session).session
        bench.handle(.inbox(try bench.authority.seal(.updated(
            sequence: 900, session: session, scope: ScopeDocument(unchecked: .object([:]))))))
        let effects = bench.handle(.bus([message("home/lamp"), message("plain/lamp")]))
        #expect(try effects.codes(of: "zigbee") == [119])
        #expect(bench.store.writes.count == 2)
    }
}
