import ConfigurationFiles
import Gate
import Testing

@Suite("Route settings")
struct RouteSettingTests {
    private static let uplink = "[uplink]\nuri = \"mqtts://b.example\"\n"

    private func parse(_ text: String) throws(SettingsError) -> BoardSettings {
        try BoardSettings.parse(text, file: "agent.toml") { _ in nil }
    }

    private static let good = [
        "from": "\"z/+\"", "app": "\"z\"", "class": "\"R\"", "op": "\"create\"",
    ]

    @Test("refuse a bad route at its key", arguments: [
        ("from", "\"a/#/b\"", "is not a topic filter"),
        ("from", "\"sport+\"", "is not a topic filter"),
        ("from", "\"\"", "is not a topic filter"), ("from", "7", "must be a string"),
        ("from", "\"#\"", "Postern's own"), ("from", "\"postern/session\"", "Postern's own"),
        ("from", "\"postern/health\"", "Postern's own"), ("from", "\"+/+\"", "Postern's own"),
        ("from", "\"postern/app/+/rejected\"", "Postern's own"),
        ("from", "\"postern/v1/#\"", "Postern's own"), ("from", "\"$SYS/#\"", "never enter"),
        ("from", "\"$share/g/z/+\"", "never enter"), ("from", nil, "route.from is missing"),
        ("app", "\"Z\"", "is not an app"), ("app", "\"{1}\"", "is not an app"),
        ("app", nil, "route.app is missing"),
        ("class", "\"_User\"", "a system class"), ("class", "\"_Join\"", "a system class"),
        ("class", "\"_User/../x\"", "is not a class"),
        ("class", "\"\u{FF3F}User\"", "is not a class"),
        ("class", "\"*\"", "is not a class"), ("class", "\"{2}\"", "from, which has 1"),
        ("class", nil, "route.class is missing"),
        ("op", "\"read\"", "is not one of"), ("op", nil, "route.op is missing"),
        ("op", "\"update\"", "route.object_id is missing"),
        ("object_id", "\"x\"", "only for update and delete"),
        ("to", "\"postern/v1/x/data/R/create\"", "Postern's own"), ("to", "\"$SYS/x\"", "server's"),
        ("to", "\"home/+\"", "no + and no #"), ("to", "\"\"", "1 to 256 bytes"),
        ("to", "\"home/{data}\"", "{data} must come first"),
        ("topic", "\"x\"", "unknown key \"route.topic\""),
    ])
    func bad(key: String, value: String?, says: String) {
        var route = Self.good
        route[key] = value
        let lines = route.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }
        let error = #expect(throws: SettingsError.self) {
            try parse(Self.uplink + "[[route]]\n" + lines.joined())
        }
        #expect(error?.message.contains(says) == true, "\(String(describing: error))")
        // What is missing is the header's fault.
        let place = route.keys.sorted().firstIndex { $0 == key && !says.contains("is missing") }
        #expect(error?.line == (place.map { 4 + $0 } ?? 3))
    }

    @Test("keep clear of the topic root that is configured")
    func root() throws {
        let route = "[[route]]\nfrom = \"a/+\"\napp = \"z\"\nclass = \"R\"\nop = \"create\"\n"
        let text = "topic_root = \"farm\"\n" + Self.uplink + route
        #expect(throws: SettingsError.self) { try parse(text + "to = \"farm/{1}\"\n") }
        #expect(throws: SettingsError.self) {
            try parse(text.replacing("a/+", with: "farm/+"))
        }
        // The standard root is then a topic like any other.
        #expect(try parse(text + "to = \"postern/v1/{1}\"\n").routes.count == 1)
        let table = RouteTable(try parse(text + "to = \"{1}/x\"\n").routes)
        guard case .refused? = table.entry(of: "a/farm") else {
            Issue.record("a capture led under the topic root")
            return
        }
    }

    @Test("name both routes that overlap, with their lines", arguments: [
        ("z/+", "z/lamp"), ("z/lamp", "z/+"), ("z/#", "z"), ("z/+/x", "+/y/x"), ("z/+", "z/+"),
    ])
    func overlap(first: String, second: String) {
        func route(_ from: String) -> String {
            "[[route]]\nfrom = \"\(from)\"\napp = \"z\"\nclass = \"R\"\nop = \"create\"\n"
        }
        let error = #expect(throws: SettingsError.self) {
            try parse(Self.uplink + route("other/+") + route(first) + route(second))
        }
        #expect(error?.line == 14)
        #expect(error?.message
            == "route.from: \"\(second)\" overlaps \"\(first)\" of the route on line 8:"
                + " a topic has at most one route")
    }

    @Test("are at most a thousand")
    func limit() throws {
        func routes(_ count: Int) -> String {
            (0..<count).map {
                "[[route]]\nfrom = \"z\($0)/+\"\napp = \"z\"\nclass = \"R\"\nop = \"create\"\n"
            }.joined()
        }
        #expect(try parse(Self.uplink + routes(1000)).routes.count == 1000)
        let error = #expect(throws: SettingsError.self) {
            try parse(Self.uplink + routes(1001))
        }
        #expect(error?.message.contains("at most 1000 routes") == true)
    }

    @Test("want each route under a header of its own")
    func inline() {
        let error = #expect(throws: SettingsError.self) {
            try parse("route = [{ from = \"a\" }]\n" + Self.uplink)
        }
        #expect(error?.message.contains("[[route]]") == true)
    }

    @Test("read the samples of zigbee2mqtt, Home Assistant and Tasmota", arguments: [
        ("zigbee2mqtt/hall", "zigbee", "Reading", "create"),
        ("homeassistant/sensor/hall/state", "homeassistant", "sensor", "update"),
        ("tele/plug/SENSOR", "tasmota", "Energy", "create"),
    ])
    func samples(topic: String, app: String, className: String, operation: String) throws {
        let text = try #require(
            SampleFile.text("Provisioning/routes.toml"))
        let settings = try parse(Self.uplink + text)
        guard case .write(let write)? = RouteTable(settings.routes).entry(of: topic) else {
            Issue.record("\(topic) does not enter")
            return
        }
        #expect(write.app.description == app)
        #expect(write.className.description == className)
        #expect(write.operation.rawValue == operation)
    }

    @Test(
        "of the configurations that are shipped load",
        arguments: ["linux-generic", "raspberry-pi"])
    func shipped(board: String) throws {
        let text = try #require(SampleFile.text("Devices/\(board)/agent.toml"))
        #expect(throws: Never.self) { try parse(text) }
    }
}
