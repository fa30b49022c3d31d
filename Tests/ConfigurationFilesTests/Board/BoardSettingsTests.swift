import ConfigurationFiles
import Gate
import Testing
import Wire

@Suite("Board settings")
struct BoardSettingsTests {
    static let uplink = "[uplink]\nuri = \"mqtts://b.example\"\n"

    private func parse(
        _ text: String, _ variables: [String: String] = [:]
    ) throws(SettingsError) -> BoardSettings {
        try BoardSettings.parse(text, file: "test.toml") { variables[$0] }
    }

    @Test("read the design's sample")
    func sample() throws {
        let settings = try parse(Samples.agent)
        #expect(settings.name == "greenhouse")
        #expect(settings.stateDir == "/var/lib/postern")
        #expect(settings.runDir == "/run/postern")
        #expect(settings.topicRoot == .standard)
        #expect(settings.bus.uri == (try BrokerURI("mqtt://127.0.0.1:1883")))
        #expect(settings.uplink.uri == (try BrokerURI("mqtts://broker.example:8883")))
        #expect(settings.uplink.caFile == "/etc/postern/ca.pem")
        #expect(settings.claim.base == "https://authority.example/claim")
        #expect(settings.claim.expires == .seconds(86_400))
        #expect(settings.offline == nil)
        #expect(settings.outbox.maxBytes == ByteCount(bytes: 256 << 20))
        #expect(settings.outbox.maxAge == .seconds(14 * 86_400))
        #expect(settings.outbox.whenFull == .refuse)
        #expect(settings.outbox.keep.isEmpty)
        #expect(settings.outbox.durability == .always)
        let route = try #require(settings.routes.first)
        #expect(route.line == 19)
        #expect(route.from == TopicFilter("zigbee2mqtt/+"))
        #expect(route.app == AppName("zigbee"))
        #expect(route.className == ClassName("Reading"))
        #expect(route.operation == .create)
    }

    @Test("have a default for all but the uplink")
    func defaults() throws {
        let settings = try parse(Self.uplink)
        #expect(settings.name == "board")
        #expect(settings.bus.uri == (try BrokerURI("mqtt://127.0.0.1:1883")))
        #expect(settings.bus.username == nil)
        #expect(settings.uplink.caFile == nil)
        #expect(!settings.uplink.insecure)
        #expect(settings.uplink.spread == nil)
        #expect(settings.claim.base == ClaimURL.defaultBase)
        #expect(settings.outbox.whenFull == .refuse)
        #expect(settings.routes.isEmpty)
        #expect(settings.logLevel == .info)
    }

    @Test("spread as they are told, or by what is set", arguments: [
        ("0s", 0), ("45s", 45), ("1h", 3600),
    ])
    func spread(text: String, seconds: Int) throws {
        let settings = try parse(Self.uplink + "spread = \"\(text)\"")
        #expect(settings.uplink.spread == .seconds(seconds))
    }

    @Test("are overridden by the environment, table or no table in the file")
    func environment() throws {
        let settings = try parse("name = \"file\"", [
            "POSTERN_NAME": "porch", "POSTERN_UPLINK_URI": "mqtt://b.example",
            "POSTERN_UPLINK_INSECURE": "true", "POSTERN_BUS_URI": "unix:/run/m.sock",
            "POSTERN_BUS_USERNAME": "agent", "POSTERN_SESSION_OFFLINE": "12h",
            "POSTERN_OUTBOX_MAX_BYTES": "1 GiB", "POSTERN_OUTBOX_WHEN_FULL": "drop-oldest",
            "POSTERN_TOPIC_ROOT": "farm/v1", "POSTERN_LOG_LEVEL": "debug",
            "POSTERN_UPLINK_SPREAD": "0s",
        ])
        #expect(settings.uplink.spread == .zero)
        #expect(settings.name == "porch")
        #expect(settings.uplink.uri == (try BrokerURI("mqtt://b.example")))
        #expect(settings.uplink.insecure)
        #expect(settings.bus.uri.scheme == .unix)
        #expect(settings.bus.username == "agent")
        #expect(settings.offline == .seconds(12 * 3600))
        #expect(settings.outbox.maxBytes == ByteCount(bytes: 1 << 30))
        #expect(settings.outbox.whenFull == .dropOldest)
        #expect(settings.topicRoot.description == "farm/v1")
        #expect(settings.logLevel == .debug)
    }

    @Test("take an integer for a size")
    func integerSize() throws {
        let settings = try parse(Self.uplink + "[outbox]\nmax_bytes = 2097152")
        #expect(settings.outbox.maxBytes.bytes == 2_097_152)
    }

    static let faults: [Fault] = [
        Fault("", line: nil, "uplink.uri is missing"),
        Fault("[uplink]\nca_file = \"/a\"", line: 1, column: 1, "uplink.uri is missing"),
        Fault("nam = \"x\"\n" + uplink, line: 1, column: 1,
            "unknown key \"nam\"; the nearest known is \"name\""),
        Fault(uplink + "[upling]", line: 3, column: 2,
            "\"upling\"; the nearest known is \"uplink\""),
        Fault(uplink + "cafile = \"/a\"", line: 3, column: 1,
            "\"uplink.cafile\"; the nearest known is \"ca_file\""),
        Fault("\nname = 3\n" + uplink, line: 2, column: 8, "name must be a string, not an integer"),
        Fault("name = \"\"\n" + uplink, line: 1, column: 8, "a name has 1 to 64 characters"),
        Fault("name = \"a\\u001Bb\"\n" + uplink, line: 1, column: 8,
            "a name has 1 to 64 characters"),
        Fault("name = \"a\\u0000b\"\n" + uplink, line: 1, column: 10, "NUL"),
        Fault("name = \"a\u{0}b\"\n" + uplink, line: 1, column: 10, "NUL"),
        Fault("state_dir = \"lib\"\n" + uplink, line: 1, column: 13,
            "\"lib\" is not an absolute path"),
        Fault("run_dir = \"/\(String(repeating: "r", count: 90))\"\n" + uplink, line: 1, column: 11,
            "90 bytes"),
        Fault("topic_root = \"a/+\"\n" + uplink, line: 1, column: 14,
            "topic_root: a topic root has"),
        Fault("log_level = \"loud\"\n" + uplink, line: 1, column: 13,
            "\"loud\" is not one of \"trace\""),
        Fault("bus = 1\n" + uplink, line: 1, column: 7, "bus must be a table, not an integer"),
        Fault("[bus]\nuri = \"tcp://x\"\n" + uplink, line: 2, column: 7, "begins with mqtt://"),
        Fault("[bus]\nuri = \"mqtt://10.0.0.1\"\n" + uplink, line: 2, column: 7,
            "mqtt:// is not encrypted"),
        Fault("[bus]\npassword_file = \"/p\"\n" + uplink, line: 2, column: 17,
            "needs a username"),
        Fault("[uplink]\nuri = \"mqtt://b.example\"", line: 2, column: 7, "insecure = true"),
        Fault("[uplink]\nuri = \"mqtt://127.0.0.1.example\"", line: 2, column: 7,
            "insecure = true"),
        Fault("[uplink]\nuri = \"mqtts://u:p@b\"", line: 2, column: 7, "no user name or password"),
        Fault("[uplink]\nuri = \"mqtts://b\"\ninsecure = \"yes\"", line: 3, column: 12,
            "must be a boolean, not a string"),
        Fault(uplink + "spread = \"61m\"", line: 3, column: 10, "at most an hour"),
        Fault(uplink + "spread = \"500ms\"", line: 3, column: 10, "whole seconds"),
        Fault(uplink + "spread = true", line: 3, column: 10, "must be a string, not a boolean"),
        Fault(uplink + "[claim]\nbase = \"ftp://x\"", line: 4, column: 8, "begins with https://"),
        Fault(uplink + "[claim]\nbase = \"https://x#y\"", line: 4, column: 8, "has no #"),
        Fault(uplink + "[claim]\nexpires = \"soon\"", line: 4, column: 11,
            "a duration is a whole number"),
        Fault(uplink + "[session]\noffline = \"0s\"", line: 4, column: 11,
            "must be longer than 0 s"),
        Fault(uplink + "[session]\noffline = \"until expiry\"", line: 4, column: 11,
            "a duration is"),
        Fault(uplink + "[outbox]\nmax_bytes = \"lots\"", line: 4, column: 13, "a size is written"),
        Fault(uplink + "[outbox]\nmax_bytes = \"1 KiB\"", line: 4, column: 13,
            "must be at least 1 MiB"),
        Fault(uplink + "[outbox]\nmax_bytes = -1", line: 4, column: 13, "a size is written"),
        Fault(uplink + "[outbox]\nmax_age = 14", line: 4, column: 11,
            "must be a string, not an integer"),
        Fault(uplink + "[outbox]\nkeep = [\"A\", \"A\"]", line: 4, column: 14, "twice"),
        Fault(uplink + "[outbox]\nkeep = [\"a b\"]", line: 4, column: 9, "is not a class"),
        Fault(uplink + "[outbox]\ndurability = \"never\"", line: 4, column: 14, "is not one of"),
        Fault(uplink + "[outbox]\nwhen_full = \"drop\"", line: 4, column: 13,
            "not one of \"refuse\", \"drop-oldest\""),
        Fault("POSTERN_UPLINK_URI", "mqtt://b.example", in: uplink, "insecure = true"),
        Fault("POSTERN_UPLINK_INSECURE", "1", in: uplink, "must be true or false"),
        Fault("POSTERN_OUTBOX_MAX_AGE", "1y", in: uplink, "a duration is"),
        Fault("POSTERN_UPLINK_SPREAD", "61m", in: uplink, "at most an hour"),
        Fault("POSTERN_UPLINK_SPREAD", "500ms", in: uplink, "whole seconds"),
        Fault("POSTERN_NAME", "", in: uplink, "a name has"),
    ]

    @Test("name the fault and its place", arguments: faults)
    func fault(_ fault: Fault) {
        let error = #expect(throws: SettingsError.self) {
            try parse(fault.text, fault.variables)
        }
        #expect(fault.stands(at: error), "\(String(describing: error))")
        #expect(error?.message.contains(fault.says) == true, "\(String(describing: error))")
    }
}
