package import Gate
package import Wire

/// What `agent.toml` says, with its defaults.
package struct BoardSettings: Equatable, Sendable {
    /// The board's name, for people.
    package var name: String
    package var stateDir: String
    package var runDir: String
    package var topicRoot: TopicRoot
    package var bus: Bus
    package var uplink: Uplink
    package var claim: Claim
    /// How long a session is used without the authority; nil is until it ends.
    package var offline: Duration?
    package var outbox: Outbox
    /// Other people's topics, in the file's order.
    package var routes: [Route]
    package var logLevel: LogLevel
    package var logFormat: LogFormat
    package var key: Key
    /// Where figures are given out in Prometheus' text form; nil nowhere.
    package var metrics: MetricsPlace?
    /// Whether Home Assistant is told of this board; nil tells it nothing.
    package var discovery: Discovery?

    /// The board's own broker.
    package struct Bus: Equatable, Sendable {
        package var uri: BrokerURI
        package var username: String?
        package var passwordFile: String?
        /// PEM; the system's store when nil.
        package var caFile: String?
        /// Our own certificate, where that broker asks for one.
        package var identity: TLSIdentity?
    }

    /// The broker that boards and authority share.
    package struct Uplink: Equatable, Sendable {
        package var uri: BrokerURI
        /// PEM; the system's store when nil.
        package var caFile: String?
        /// Our own certificate, where that broker asks for one.
        package var identity: TLSIdentity?
        /// Whether `mqtt://` may leave this machine.
        package var insecure: Bool
        /// Over how long this board spreads what a fleet would do at one moment; nil: as long
        /// as its authority says.
        package var spread: Duration?
    }

    package struct Claim: Equatable, Sendable {
        /// The console's claim page.
        package var base: String
        /// How long a claim secret can be used.
        package var expires: Duration
    }

    package struct Outbox: Equatable, Sendable {
        package var maxBytes: ByteCount
        package var maxAge: Duration
        package var whenFull: WhenFull
        /// The classes that are dropped last, the most important first; all others go before
        /// them.
        package var keep: [ClassName]
        package var durability: Durability
    }

    package enum WhenFull: String, Sendable, CaseIterable {
        case refuse
        case dropOldest = "drop-oldest"
    }

    /// What becomes of the sensors below this first level of Home Assistant's topics.
    package enum Discovery: Equatable, Sendable {
        case announced(below: TopicRoot)
        case withdrawn(below: TopicRoot)
    }

    /// When a write counts as safe, and is acknowledged.
    package enum Durability: String, Sendable, CaseIterable {
        /// Once it is on this board's disk.
        case always
        /// Once the upstream broker has it, or, where that takes longer than 50 ms, once it is
        /// on this board's disk.
        case spill
    }

    /// Reads the text of `agent.toml`. A variable `POSTERN_` + the upper-cased path wins over
    /// the file. An unknown key, a value of another form and plain `mqtt://` to another
    /// machine are errors; nothing is repaired.
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
            discovery: try discovery(root.section("home_assistant")))
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
            throw section.fault("password_file", "a password goes with a username")
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

    /// Off unless asked for: what is announced stays at the broker, retained. So `false` takes
    /// it back, and only no word at all leaves the topics alone.
    private static func discovery(
        _ section: TOMLSection
    ) throws(SettingsError) -> Discovery? {
        let prefix = try section.value("prefix", SettingValue.topicRoot)
            ?? TopicRoot("homeassistant")
        guard let prefix, let isWanted = try section.flag("discovery") else { return nil }
        return isWanted ? .announced(below: prefix) : .withdrawn(below: prefix)
    }

    private static func claim(_ section: TOMLSection) throws(SettingsError) -> Claim {
        return Claim(
            base: try section.value("base", SettingValue.claimBase) ?? ClaimURL.defaultBase,
            expires: try section.value("expires", SettingValue.span) ?? .seconds(86_400))
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
        // Below this no message of the largest size fits.
        guard outbox.maxBytes.bytes >= 1 << 20 else {
            throw section.fault("max_bytes", "is at least 1 MiB")
        }
        return outbox
    }

    private static func kept(_ section: TOMLSection) throws(SettingsError) -> [ClassName] {
        var classes: [ClassName] = []
        for (index, text) in (try section.texts("keep") ?? []).enumerated() {
            do throws(SettingFault) {
                let name = try SettingValue.className(text)
                guard !classes.contains(name) else {
                    throw SettingFault("\"\(text)\" stands there twice")
                }
                classes.append(name)
            } catch {
                throw section.fault("keep", element: index, error.sentence)
            }
        }
        guard classes.count <= 64 else { throw section.fault("keep", "has at most 64 classes") }
        return classes
    }
}

extension TOMLSection {
    /// A broker's address. What can be overheard stays on this machine unless `insecure`.
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
            throw fault(key, "mqtt:// is in clear: use mqtts://, or say insecure = true")
        }
        return uri
    }
}
