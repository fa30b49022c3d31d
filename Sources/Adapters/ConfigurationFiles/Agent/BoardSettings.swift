package import Gate
package import Wire

/// The settings of `agent.toml`, with their defaults.
package struct BoardSettings: Equatable, Sendable {
    /// The board's name, for people.
    package var name: String
    package var stateDir: String
    package var runDir: String
    package var topicRoot: TopicRoot
    package var bus: Bus
    package var uplink: Uplink
    package var claim: Claim
    /// How long the board uses its session without the authority. Nil: until the session ends.
    package var offline: Duration?
    package var outbox: Outbox
    /// The mappings of foreign topics, in the file's order.
    package var routes: [Route]
    package var logLevel: LogLevel
    package var logFormat: LogFormat
    package var key: Key
    /// Where the agent serves metrics, in Prometheus' text form. Nil: nowhere.
    package var metrics: MetricsPlace?
    /// Whether the agent announces this board to Home Assistant. Nil: it leaves those topics alone.
    package var discovery: Discovery?
    /// Whether the board sends its policy and its routes to the authority, and takes those of a
    /// board that it replaced.
    package var backsUpConfiguration: Bool

    /// The board's own broker.
    package struct Bus: Equatable, Sendable {
        package var uri: BrokerURI
        package var username: String?
        package var passwordFile: String?
        /// PEM file of trusted CAs. Nil: the system's store.
        package var caFile: String?
        /// The agent's own certificate, if that broker asks for one.
        package var identity: TLSIdentity?
    }

    /// The upstream broker, which boards and authority share.
    package struct Uplink: Equatable, Sendable {
        package var uri: BrokerURI
        /// PEM file of trusted CAs. Nil: the system's store.
        package var caFile: String?
        /// The agent's own certificate, if that broker asks for one.
        package var identity: TLSIdentity?
        /// Whether `mqtt://` to another machine is allowed.
        package var insecure: Bool
        /// The span over which this board spreads work that a whole fleet would do at one moment.
        /// Nil: the span that the authority sends.
        package var spread: Duration?
    }

    package struct Claim: Equatable, Sendable {
        /// The console's claim page.
        package var base: String
        /// How long a claim is valid.
        package var expires: Duration
        /// PEM file of the CAs that `pair` trusts for that page. Nil: the system's store.
        package var caFile: String?
    }

    package struct Outbox: Equatable, Sendable {
        package var maxBytes: ByteCount
        package var maxAge: Duration
        package var whenFull: WhenFull
        /// The classes that a full outbox drops last, the most important first. All other classes
        /// are dropped before them.
        package var keep: [ClassName]
        package var durability: Durability
    }

    package enum WhenFull: String, Sendable, CaseIterable {
        case refuse
        case dropOldest = "drop-oldest"
    }

    /// The agent's action for its sensors under Home Assistant's topic prefix.
    package enum Discovery: Equatable, Sendable {
        case announced(below: TopicRoot)
        case withdrawn(below: TopicRoot)
    }

    /// When the agent counts a write as safe and acknowledges it.
    package enum Durability: String, Sendable, CaseIterable {
        /// The write is on this board's disk.
        case always
        /// The upstream broker has the write. If that takes longer than 50 ms: the write is on this
        /// board's disk.
        case spill
    }

    /// Reads the text of `agent.toml`. A variable `POSTERN_` + the upper-cased path overrides the
    /// file. Errors: an unknown key, a value of the wrong form, plain `mqtt://` to another machine.
    package static func parse(
        _ text: String, file: String, environment: @escaping (String) -> String?
    ) throws(SettingsError) -> BoardSettings {
        let root = try TOMLDocument(text, file: file, environment: environment).root
        try root.allow(only: .agent)
        let topicRoot = try root.value("topic_root", SettingValue.topicRoot) ?? .standard
        return BoardSettings(
            name: try root.value("name", SettingValue.displayName) ?? "board",
            stateDir: try root.value("state_dir", SettingValue.absolutePath)
                ?? "/var/lib/postern",
            runDir: try root.value("run_dir", SettingValue.socketFolder) ?? standardRunDir,
            topicRoot: topicRoot,
            bus: try bus(root.section("bus")),
            uplink: try uplink(root.section("uplink")),
            claim: try claim(root.section("claim")),
            offline: try offline(root.section("session")),
            outbox: try outbox(root.section("outbox")),
            routes: try routes(root.sections("route"), under: topicRoot),
            logLevel: try root.value("log_level", SettingValue.choice) ?? .info,
            logFormat: try root.value("log_format", SettingValue.choice) ?? .text,
            key: try Key(root.section("key")),
            metrics: try MetricsPlace(root.section("metrics")),
            discovery: try discovery(root.section("home_assistant")),
            backsUpConfiguration: try root.section("backup").flag("configuration") ?? false)
    }
}

extension BoardSettings {
    private static func bus(_ section: TOMLSection) throws(SettingsError) -> Bus {
        let insecure = try section.flag("insecure") ?? false
        let uri = try section.broker(
            "uri", insecure: insecure, otherwise: "mqtt://127.0.0.1:1883")
        let bus = Bus(
            uri: try section.need("uri", uri),
            username: try section.text("username"),
            passwordFile: try section.value("password_file", SettingValue.absolutePath),
            caFile: try section.value("ca_file", SettingValue.absolutePath),
            identity: try TLSIdentity(section))
        guard bus.passwordFile == nil || bus.username != nil else {
            throw section.fault("password_file", "a password needs a username")
        }
        return bus
    }

    private static func uplink(_ section: TOMLSection) throws(SettingsError) -> Uplink {
        let insecure = try section.flag("insecure") ?? false
        let uri = try section.broker("uri", insecure: insecure)
        return Uplink(
            uri: try section.need("uri", uri),
            caFile: try section.value("ca_file", SettingValue.absolutePath),
            identity: try TLSIdentity(section), insecure: insecure,
            spread: try section.value("spread", SettingValue.spread))
    }

    /// Off by default. Announcements stay at the broker, because they are retained. `false` removes
    /// them; without the key the agent leaves the topics alone.
    private static func discovery(
        _ section: TOMLSection
    ) throws(SettingsError) -> Discovery? {
        let prefix = try section.value("prefix", SettingValue.topicRoot) ?? .homeAssistant
        guard let isWanted = try section.flag("discovery") else { return nil }
        return isWanted ? .announced(below: prefix) : .withdrawn(below: prefix)
    }

    private static func claim(_ section: TOMLSection) throws(SettingsError) -> Claim {
        return Claim(
            base: try section.value("base", SettingValue.claimBase) ?? ClaimURL.defaultBase,
            expires: try section.value("expires", SettingValue.span) ?? .seconds(86_400),
            caFile: try section.value("ca_file", SettingValue.absolutePath))
    }

    private static func offline(_ section: TOMLSection) throws(SettingsError) -> Duration? {
        guard try section.text("offline") != "until-expiry" else { return nil }
        return try section.value("offline", SettingValue.span)
    }

    private static func outbox(_ section: TOMLSection) throws(SettingsError) -> Outbox {
        let outbox = Outbox(
            maxBytes: try section.size("max_bytes")
                ?? ByteCount(bytes: 256 << 20),
            maxAge: try section.value("max_age", SettingValue.span) ?? .seconds(14 * 86_400),
            whenFull: try section.value("when_full", SettingValue.choice) ?? .refuse,
            keep: try kept(section),
            durability: try section.value("durability", SettingValue.choice) ?? .always)
        // A smaller outbox could not hold a message of the largest size.
        guard outbox.maxBytes.bytes >= 1 << 20 else {
            throw section.fault("max_bytes", "must be at least 1 MiB")
        }
        return outbox
    }

    private static func kept(_ section: TOMLSection) throws(SettingsError) -> [ClassName] {
        var classes: [ClassName] = []
        for (index, text) in (try section.texts("keep") ?? []).enumerated() {
            do throws(SettingFault) {
                let name = try SettingValue.className(text)
                guard !classes.contains(name) else {
                    throw SettingFault("\"\(text)\" is listed twice")
                }
                classes.append(name)
            } catch {
                throw section.fault("keep", element: index, error.sentence)
            }
        }
        guard classes.count <= 64 else { throw section.fault("keep", "at most 64 classes") }
        return classes
    }
}

extension TOMLSection {
    /// Reads a broker's address. Plain MQTT to another machine needs `insecure`.
    func broker(
        _ key: String, insecure: Bool, otherwise standard: String? = nil
    ) throws(SettingsError) -> BrokerURI? {
        guard let text = try text(key) ?? standard else { return nil }
        let uri: BrokerURI
        do throws(BrokerURI.ParseError) {
            uri = try BrokerURI(text)
        } catch {
            throw fault(key, error.sentence)
        }
        guard uri.scheme != .mqtt || uri.isLoopback || insecure else {
            throw fault(key, "mqtt:// is not encrypted: use mqtts://, or set insecure = true")
        }
        return uri
    }
}
