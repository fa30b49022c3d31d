import Gate
import Sessions
import Testing

/// The contract's topics and the agent's own, which no route touches.
let reservedTopics = ["postern/v1/#", "postern/session", "postern/health", "postern/app/#"]
    .compactMap(TopicFilter.init)

func route(
    _ from: String, _ className: String = "Reading", _ operation: GateOperation = .create,
    objectID: String? = nil, to: String? = nil, line: Int = 7
) throws -> Route {
    try Route(
        RouteDeclaration(
            from: try #require(TopicFilter(from)), app: try #require(AppName("zigbee")),
            className: className, operation: operation, objectID: objectID, to: to),
        line: line, reserved: reservedTopics)
}

/// `Class op [objectId] [> destination]`, `CODE RULE`, or `-` where nothing enters.
func text(_ entry: RouteEntry?) -> String {
    switch entry {
    case nil: return "-"
    case .refused(let app, let rejection): return "\(app) \(text(Decision.deny(rejection)))"
    case .write(let write):
        let destination =
            switch write.destination {
            case nil: ""
            case .behind(let further): " > …/\(further)"
            case .elsewhere(let topic): " > \(topic)"
            }
        let record = write.record.map { " \($0)" } ?? ""
        return "\(write.className) \(write.operation)\(record)\(destination)"
    }
}

@Suite("Route")
struct RouteTests {
    @Test("takes in what its filter matches, and no other topic", arguments: [
        ("zigbee2mqtt/+", "zigbee2mqtt/lamp", "Reading create"),
        ("zigbee2mqtt/+", "zigbee2mqtt/", "Reading create"),
        ("zigbee2mqtt/+", "zigbee2mqtt/lamp/set", "-"), ("zigbee2mqtt/+", "zigbee2mqtt", "-"),
        ("zigbee2mqtt/+", "Zigbee2mqtt/lamp", "-"), ("zigbee2mqtt/+", "/zigbee2mqtt/lamp", "-"),
        ("zigbee2mqtt/+", "zigbee2mqtt/a\0b", "-"), ("zigbee2mqtt/+", "zigbee2mqtt/+", "-"),
        ("zigbee2mqtt/+", "", "-"),
        ("tele/+/SENSOR", "tele/plug/SENSOR", "Reading create"),
        ("tele/+/SENSOR", "tele/plug/STATE", "-"),
        ("homeassistant/+/+/state", "homeassistant/light/hall/state", "Reading create"),
        ("shellies/#", "shellies/a/b/c", "Reading create"),
        ("shellies/#", "shellies", "Reading create"),
    ])
    func entering(from: String, topic: String, expected: String) throws {
        #expect(text(RouteTable([try route(from)]).entry(of: topic)) == expected)
    }

    @Test("never takes in a topic that begins with $, whatever its filter", arguments: [
        "+/broker/uptime", "$SYS/broker/uptime", "$SYS/#",
    ])
    func dollar(from: String) throws {
        // No file can declare the latter two: this is the table's own word.
        let table = RouteTable([Route(
            line: 1, from: try #require(TopicFilter(from)), app: try #require(AppName("z")),
            className: try #require(ClassName("R")), operation: .create)])
        #expect(table.entry(of: "$SYS/broker/uptime") == nil)
        #expect(table.entry(of: "$SYS") == nil)
    }

    @Test("has its class named by itself or by a level, judged as any other", arguments: [
        ("in/+", "Reading", "in/x", "Reading create"),
        ("in/+", "{1}", "in/Lamp", "Lamp create"),
        ("in/+/+", "{2}", "in/a/Lamp", "Lamp create"),
        ("in/+/x/+", "{1}", "in/Lamp/x/y", "Lamp create"),
        // A protected name goes on to the gate, which refuses it.
        ("in/+", "{1}", "in/_User", "_User create"),
        ("in/+", "{1}", "in/_Join", "_Join create"),
        ("in/+", "{1}", "in/1st", "zigbee 103 agent.toml:7"),
        ("in/+", "{1}", "in/", "zigbee 103 agent.toml:7"),
        ("in/+", "{1}", "in/two words", "zigbee 103 agent.toml:7"),
        ("in/+", "{1}", "in/\u{FF3F}User", "zigbee 103 agent.toml:7"),
        ("in/+", "{1}", "in/_Us\u{435}r", "zigbee 103 agent.toml:7"),
        ("in/+", "{1}", "in/\u{301}A", "zigbee 103 agent.toml:7"),
        ("in/+", "{1}", "in/" + String(repeating: "A", count: 129), "zigbee 103 agent.toml:7"),
    ])
    func classes(from: String, className: String, topic: String, expected: String) throws {
        let table = RouteTable([try route(from, className)])
        #expect(text(table.entry(of: topic)) == expected)
    }

    @Test("says which record an update or delete means", arguments: [
        ("in/+", GateOperation.update, "lamp", "in/x", "Reading update lamp"),
        ("in/+", .update, "{1}", "in/a-Z_9", "Reading update a-Z_9"),
        ("in/+/+", .delete, "{2}-{1}", "in/a/b", "Reading delete b-a"),
        ("in/+", .update, "{1}", "in/0x00158d0001", "Reading update 0x00158d0001"),
        ("in/+", .update, "{1}", "in/", "zigbee 105 agent.toml:7"),
        ("in/+", .delete, "{1}", "in/a b", "zigbee 105 agent.toml:7"),
        ("in/+", .delete, "{1}", "in/é", "zigbee 105 agent.toml:7"),
        ("in/+", .delete, "x{1}", "in/" + String(repeating: "a", count: 64),
         "zigbee 105 agent.toml:7"),
    ])
    func records(
        from: String, operation: GateOperation, objectID: String, topic: String, expected: String
    ) throws {
        let table = RouteTable([try route(from, "Reading", operation, objectID: objectID)])
        #expect(text(table.entry(of: topic)) == expected)
    }

    @Test("leads to the contract's topic, behind it, or elsewhere", arguments: [
        ("in/+", "{data}", "in/a", "Reading create"),
        ("in/+", "{data}/{1}", "in/a", "Reading create > …/a"),
        ("in/+/+", "{data}/raw/{2}-{1}/x", "in/a/b", "Reading create > …/raw/b-a/x"),
        ("in/#", "{data}/{1}", "in/a/b", "Reading create > …/a/b"),
        ("in/+", "{data}/\u{301}{1}", "in/a", "Reading create > …/\u{301}a"),
        ("in/+", "home/greenhouse/{1}", "in/a", "Reading create > home/greenhouse/a"),
        ("in/+", "/house/{1}/", "in/a", "Reading create > /house/a/"),
        ("in/+/#", "{1}/{2}", "in/a/b/c", "Reading create > a/b/c"),
        ("in/#", "home/{1}", "in/a//b", "Reading create > home/a//b"),
        // The topic that comes out is what counts.
        ("in/#", "{data}/{1}", "in/a//b", "zigbee 105 agent.toml:7"),
        ("in/#", "{data}/{1}", "in/a/", "zigbee 105 agent.toml:7"),
        ("in/#", "{data}/{1}", "in", "zigbee 105 agent.toml:7"),
        ("in/+", "home/{1}", "in/", "zigbee 105 agent.toml:7"),
        ("in/#", "home/{1}", "in", "zigbee 105 agent.toml:7"),
        ("in/+", "{1}/x", "in/$SYS", "zigbee 105 agent.toml:7"),
        ("in/+", "{1}", "in/$share", "zigbee 105 agent.toml:7"),
        ("in/#", "{1}", "in/postern/v1", "zigbee 105 agent.toml:7"),
        ("in/#", "{1}", "in/postern/v1/x/inbox", "zigbee 105 agent.toml:7"),
        ("in/+", "postern/{1}/x", "in/v1", "zigbee 105 agent.toml:7"),
        ("in/+", "postern/{1}/x", "in/app", "zigbee 105 agent.toml:7"),
        ("in/+", "postern/{1}", "in/session", "zigbee 105 agent.toml:7"),
        ("in/+", "postern/{1}/x", "in/v2", "Reading create > postern/v2/x"),
        ("in/+", "home/{1}", "in/" + String(repeating: "a", count: 251),
         "Reading create > home/" + String(repeating: "a", count: 251)),
        ("in/+", "home/{1}", "in/" + String(repeating: "a", count: 252),
         "zigbee 105 agent.toml:7"),
        ("in/#", "home/{1}", "in/a" + String(repeating: "/", count: 126),
         "Reading create > home/a" + String(repeating: "/", count: 126)),
        ("in/#", "home/{1}", "in/a" + String(repeating: "/", count: 127),
         "zigbee 105 agent.toml:7"),
        ("in/+", "{data}/{1}", "in/" + String(repeating: "a", count: 161),
         "zigbee 105 agent.toml:7"),
    ])
    func destinations(from: String, to: String, topic: String, expected: String) throws {
        #expect(text(RouteTable([try route(from, to: to)]).entry(of: topic)) == expected)
    }

    @Test("is refused for what it must not say, by key", arguments: [
        ("$SYS/#", "R", "", "", "from", "begin with $"),
        ("$share/g/a", "R", "", "", "from", "begin with $"),
        ("$queue/a", "R", "", "", "from", "begin with $"),
        ("#", "R", "", "", "from", "postern/v1/#"),
        ("+/app/x/create/R", "R", "", "", "from", "postern/app/#"),
        ("postern/+", "R", "", "", "from", "Postern's own"),
        ("postern/v1/+/data/#", "R", "", "", "from", "Postern's own"),
        (String(repeating: "a", count: 513), "R", "", "", "from", "at most 512 bytes"),
        (String(repeating: "/", count: 128), "R", "", "", "from", "at most 128 levels"),
        ("a/+", "_User", "", "", "class", "a system class"),
        ("a/+", "_Role", "", "", "class", "a system class"),
        ("a/+", "_Join", "", "", "class", "a system class"),
        ("a/+", "x y", "", "", "class", "is not a class"),
        ("a/+", "", "", "", "class", "is not a class"),
        ("a/+", "_{1}", "", "", "class", "must be a name or one {n}"),
        ("a/+/+", "{1}{2}", "", "", "class", "must be a name or one {n}"),
        ("a/+", "{2}", "", "", "class", "from, which has 1"),
        ("a/b", "{1}", "", "", "class", "from, which has 0"),
        ("a/+", "{0}", "", "", "class", "from, which has 1"),
        ("a/+", "{01}", "", "", "class", "first wildcard"),
        ("a/+", "{-1}", "", "", "class", "from, which has"),
        ("a/+", "{+1}", "", "", "class", "first wildcard"),
        ("a/+", "{}", "", "", "class", "first wildcard"),
        ("a/+", "{1", "", "", "class", "first wildcard"),
        ("a/+", "1}", "", "", "class", "first wildcard"),
        ("a/+", "{99999999999999999999}", "", "", "class", "first wildcard"),
        ("a/#", "{1}", "", "", "class", "is a #"),
        ("a/+", "R", "x", "", "object_id", "only for update and delete"),
        ("a/+", "R", "", "{data}x", "to", "{data} must come first"),
        ("a/+", "R", "", "x/{data}", "to", "{data} must come first"),
        ("a/+", "R", "", "{data}/{data}", "to", "first wildcard"),
        ("a/+", "R", "", "{data}/", "to", "no level empty"),
        ("a/+", "R", "", "{data}//x", "to", "no level empty"),
        ("a/+", "R", "", "{data}/+", "to", "no + and no #"),
        ("a/+", "R", "", "home/#", "to", "no + and no #"),
        ("a/+", "R", "", "home/\0", "to", "no + and no #"),
        ("a/+", "R", "", "$SYS/x", "to", "the server's"),
        ("a/+", "R", "", "$share/{1}", "to", "the server's"),
        ("a/+", "R", "", "postern/v1", "to", "Postern's own"),
        ("a/+", "R", "", "postern/v1/{1}/inbox", "to", "Postern's own"),
        ("a/+", "R", "", "postern/app/door/create/R", "to", "Postern's own"),
        ("a/+", "R", "", "postern/health", "to", "Postern's own"),
        ("a/+", "R", "", "home/{2}", "to", "from, which has 1"),
        ("a/+", "R", "", String(repeating: "a", count: 257), "to", "1 to 256 bytes"),
        ("a/+", "R", "", "{data}/" + String(repeating: "a", count: 161), "to", "1 to 160 bytes"),
    ])
    func faults(
        from: String, className: String, objectID: String, to: String, key: String, says: String
    ) {
        let error = #expect(throws: RouteFault.self) {
            try route(
                from, className, objectID: objectID.isEmpty ? nil : objectID,
                to: to.isEmpty ? nil : to)
        }
        #expect(error?.key == key)
        #expect(error?.sentence.contains(says) == true, "\(String(describing: error))")
    }

    @Test("wants an object id where there is a record", arguments: [
        ("a/+", nil, "is missing"), ("a/+", "", "is not an objectId"),
        ("a/+", "a b", "is not an objectId"),
        ("a/+", "{2}", "which has 1"), ("a/#", "{1}", "is a #"),
    ] as [(String, String?, String)])
    func missingRecord(from: String, objectID: String?, says: String) {
        for operation in [GateOperation.update, .delete] {
            let error = #expect(throws: RouteFault.self) {
                try route(from, "R", operation, objectID: objectID)
            }
            #expect(error?.key == "object_id")
            #expect(error?.sentence.contains(says) == true, "\(String(describing: error))")
        }
    }

    @Test("leads elsewhere only where the scope's topics grant it", arguments: [
        ("home/greenhouse/x", ["home/greenhouse/+"], "ok scope:default"),
        ("home/greenhouse/x", ["else/#", "home/#"], "ok scope:default"),
        ("home/greenhouse/x", [], "119 scope:topics"),
        ("home/greenhouse/x", ["home/greenhouse"], "119 scope:topics"),
        ("home/greenhouse/x", ["Home/#"], "119 scope:topics"),
        ("home/greenhouse/x/y", ["home/greenhouse/+"], "119 scope:topics"),
        ("home/greenhouse/x", nil, "119 scope:topics"),
    ] as [(String, [String]?, String)])
    func grants(topic: String, granted: [String]?, expected: String) throws {
        let scope = granted.map { topics in
            Scope(allowsByDefault: true, rules: [], topics: topics.compactMap(TopicFilter.init))
        }
        let gate = Gate(policy: nil, scope: scope)
        let write = Write(
            app: try #require(AppName("z")), className: try #require(ClassName("R")),
            operation: .create, payload: [], destination: .elsewhere(topic))
        #expect(text(gate.decide(write)) == expected)
        #expect(gate.explain(write)[1].decision.map(text) == expected)
        let contract = Write(
            app: write.app, className: write.className, operation: .create, payload: [],
            destination: .behind(try #require(TopicSuffix("x"))))
        #expect(text(gate.decide(contract)).hasPrefix("ok"))
    }

    @Test("that leads elsewhere is still judged by class and rules")
    func grantIsNoBypass() throws {
        let scope = Scope(
            allowsByDefault: false, rules: [], topics: [try #require(TopicFilter("home/#"))])
        for (name, expected) in [
            ("_User", "119 builtin:protected-class"), ("R", "119 scope:default"),
        ] {
            let write = Write(
                app: try #require(AppName("z")), className: try #require(ClassName(name)),
                operation: .create, payload: [], destination: .elsewhere("home/x"))
            #expect(text(Gate(policy: nil, scope: scope).decide(write)) == expected)
        }
    }
}
