package import Gate
package import Sessions
package import Wire

/// The settings of `authority.toml`, with their defaults.
package struct AuthoritySettings: Equatable, Sendable {
    package var name: String
    package var stateDir: String
    /// Where the authority keeps its records.
    package var store: StorePlace
    /// The key that wraps the store's secrets: a path, or `credential:NAME` for a systemd
    /// credential. Nil: `authority.key` in the state folder. Authorities that share a store share
    /// this key.
    package var masterKeyFile: String?
    package var topicRoot: TopicRoot
    package var http: HTTP
    package var broker: Broker
    package var lifetimes: LifetimePolicy
    /// How often boards send a heartbeat; whole seconds.
    package var heartbeat: Duration
    /// How long boards use a session without contact to the authority.
    package var offline: Duration
    /// The span over which boards spread work that all of them want at one moment. Nil: it depends
    /// on the number of boards.
    package var spread: Duration?
    /// How long a provisioning waits for its board to use the claim.
    package var claimLifetime: Duration
    package var signUp: SignUpPolicy
    /// Whether the console shows the data that boards send; `[console] live`.
    package var showsLiveData: Bool
    package var data: KeptData
    package var sensorDiscovery: SensorDiscovery
    /// How many commands one board may get; `[commands] rate`.
    package var commandRate: Rate
    /// The actions that Parse's own routes may do with `_Session`.
    package var sessionPermissions: ClassPermissions
    /// Whether people may log in with passwords; `[login] passwords`.
    package var takesPasswords: Bool
    /// External login providers.
    package var logins: [Login]
    package var logLevel: LogLevel
    package var logFormat: LogFormat
    /// The certificates that the authority makes itself. Nil: it makes none.
    package var tls: OwnCertificates?
    /// Where the authority serves metrics, in Prometheus' text form. Nil: nowhere.
    package var metrics: MetricsPlace?
    package var alerts: AlertSettings

    package struct HTTP: Equatable, Sendable {
        /// IPv6 without brackets.
        package var listenHost: String
        package var listenPort: UInt16
        /// Without a slash at its end.
        package var publicURL: String
        package var appID: String
        /// The folder with the console's page. Nil: the authority searches for it.
        package var console: String?
        /// Addresses of trusted proxies. Their `X-Forwarded-For` header identifies the client. A
        /// proxy may open more than the 64 connections that other clients may open.
        package var proxies: [String]
        package var parse: ParseHTTP
        /// A certificate from another source. It takes precedence over `[tls] own`.
        package var identity: TLSIdentity?
        /// PEM file of CAs. Each client must show a certificate that one of them signed.
        package var clientCAFile: String?
        /// Whether plain HTTP to other machines is allowed.
        package var insecure: Bool
    }

    package struct Broker: Equatable, Sendable {
        package var mode: BrokerMode
        /// Embedded broker only: its listen address.
        package var listenHost: String
        package var listenPort: UInt16
        package var access: BrokerAccess
        /// External broker only, and always set there.
        package var uri: BrokerURI?
        package var username: String?
        package var passwordFile: String?
        package var caFile: String?
        /// Embedded broker: its server certificate. External broker: the authority's client
        /// certificate.
        package var identity: TLSIdentity?
        /// Embedded broker only: PEM file of CAs. Boards and consumers must show a certificate that
        /// one of them signed, and must still log in.
        package var clientCAFile: String?
        /// Whether plain MQTT to other machines is allowed.
        package var insecure: Bool
        /// `access = "http"` only: the secret that the broker sends with each question.
        package var accessSecretFile: String?
        /// `access = "http"` only: RabbitMQ's virtual host for boards and consumers.
        package var virtualHost: String
        /// The broker address that boards and consumers receive. Nil: the address that the
        /// authority uses.
        package var advertise: String?
    }

    /// The rule for sign-up.
    package enum SignUpPolicy: String, Sendable, CaseIterable {
        /// Anybody may sign up. An administrator still decides who may claim boards.
        case open
        /// Only an administrator adds users.
        case closed
    }

    package enum BrokerMode: String, Sendable, CaseIterable {
        /// A mosquitto that the authority runs.
        case embedded
        case external
    }

    package enum BrokerAccess: String, Sendable, CaseIterable {
        /// The authority controls access through mosquitto's dynamic-security plugin.
        case dynamicSecurity = "dynamic-security"
        /// The authority controls access. The broker asks it over HTTP about each client.
        case http
        /// Access is controlled elsewhere.
        case none
    }

    /// Reads the text of `authority.toml`. A variable `POSTERN_` + the upper-cased path overrides
    /// the file. Errors: an unknown key, a value of the wrong form, a lifetime outside the
    /// contract's limits.
    package static func parse(
        _ text: String, file: String, environment: @escaping (String) -> String?
    ) throws(SettingsError) -> AuthoritySettings {
        let root = try TOMLDocument(text, file: file, environment: environment).root
        try root.allow(only: .authority)
        let session = try root.section("session")
        let claim = try root.section("claim")
        let users = try root.section("users")
        let console = try root.section("console")
        let tls = try OwnCertificates(root.section("tls"))
        let signUp: SignUpPolicy = try users.value("sign_up", SettingValue.choice) ?? .closed
        let heartbeat = try SessionTimes.heartbeat(session)
        let topicRoot = try root.value("topic_root", SettingValue.topicRoot) ?? .standard
        let data = try KeptData(root.section("data"))
        let lifetimes = try SessionTimes.lifetimes(session, heartbeat: heartbeat)
        return AuthoritySettings(
            name: try root.value("name", SettingValue.displayName) ?? "Postern",
            stateDir: try root.value("state_dir", SettingValue.absolutePath)
                ?? "/var/lib/postern-authority",
            store: try StorePlace(root),
            masterKeyFile: try root.value("master_key_file", SettingValue.keyPlace),
            topicRoot: topicRoot,
            http: try http(root.section("http"), ownCertificates: tls != nil),
            broker: try broker(root.section("broker"), ownCertificates: tls != nil),
            lifetimes: lifetimes,
            heartbeat: heartbeat,
            offline: try SessionTimes.offline(session, absolute: lifetimes.absolute),
            spread: try session.value("spread", SettingValue.spread),
            claimLifetime: try claim.value("expires", SettingValue.span) ?? .seconds(86_400),
            signUp: signUp,
            showsLiveData: try console.flag("live") ?? true,
            data: data,
            sensorDiscovery: try SensorDiscovery(
                root.section("home_assistant"), beside: topicRoot, data),
            commandRate: try root.section("commands").value("rate", SettingValue.rate)
                ?? Rate(60, per: .minute),
            sessionPermissions: try ClassPermissions(session.section("permissions")),
            takesPasswords: try root.section("login").flag(Login.passwords) ?? true,
            logins: try Login.all(root.section("login"), signUp: signUp == .open),
            logLevel: try root.value("log_level", SettingValue.choice) ?? .info,
            logFormat: try root.value("log_format", SettingValue.choice) ?? .text,
            tls: tls,
            metrics: try MetricsPlace(root.section("metrics")),
            alerts: try AlertSettings(root.section("alerts"), heartbeat: heartbeat))
    }
}

extension AuthoritySettings {
    private static func http(
        _ section: TOMLSection, ownCertificates: Bool
    ) throws(SettingsError) -> HTTP {
        let listen = try section.value("listen", ListenAddress.init(_:))
            ?? ListenAddress(host: "127.0.0.1", port: 8080)
        let identity = try TLSIdentity(section)
        let insecure = try section.flag("insecure") ?? false
        let hasTLS = ownCertificates || identity != nil
        // Passwords and session tokens travel over HTTP.
        guard hasTLS || insecure || listen.isLoopback else {
            throw section.fault(
                "listen", "plain HTTP outside loopback: set certificate_file and key_file, or "
                    + "own = true in [tls], or, without encryption, insecure = true")
        }
        let clientCAFile = try section.value("client_ca_file", SettingValue.absolutePath)
        guard hasTLS || clientCAFile == nil else {
            throw section.fault(
                "client_ca_file", "needs TLS: certificate_file, or [tls] own = true")
        }
        return HTTP(
            listenHost: listen.host, listenPort: listen.port,
            publicURL: try section.value("public_url", SettingValue.httpURL)
                ?? "\(hasTLS ? "https" : "http")://\(listen.authority)",
            appID: try section.value("app_id", Self.appID) ?? "postern",
            console: try section.value("console", SettingValue.absolutePath),
            proxies: try proxies(section),
            parse: try ParseHTTP(section),
            identity: identity, clientCAFile: clientCAFile, insecure: insecure)
    }

    /// Reads IP addresses. Host names and address ranges are errors.
    private static func proxies(_ section: TOMLSection) throws(SettingsError) -> [String] {
        let addresses = try section.texts("proxies") ?? []
        for (index, address) in addresses.enumerated() {
            guard (2...45).contains(address.utf8.count),
                address.contains(".") || address.contains(":"),
                address.utf8.allSatisfy({ "0123456789abcdefABCDEF.:".utf8.contains($0) })
            else { throw section.fault("proxies", element: index, "this is not an IP address") }
        }
        return addresses
    }

    /// The id travels in an HTTP header, so other bytes are refused.
    private static func appID(_ text: String) throws(SettingFault) -> String {
        guard (1...128).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw SettingFault("an application id has 1 to 128 visible ASCII characters") }
        return text
    }

    private static func broker(
        _ section: TOMLSection, ownCertificates: Bool
    ) throws(SettingsError) -> Broker {
        let mode: BrokerMode = try section.value("mode", SettingValue.choice) ?? .embedded
        let listen = try section.value("listen", ListenAddress.init(_:))
            ?? ListenAddress(host: "127.0.0.1", port: 1883)
        let insecure = try section.flag("insecure") ?? false
        let broker = Broker(
            mode: mode,
            listenHost: listen.host, listenPort: listen.port,
            access: try section.value("access", SettingValue.choice) ?? .dynamicSecurity,
            uri: try section.broker("uri", insecure: insecure),
            username: try section.text("username"),
            passwordFile: try section.value("password_file", SettingValue.absolutePath),
            caFile: try section.value("ca_file", SettingValue.absolutePath),
            identity: try TLSIdentity(section),
            clientCAFile: try section.value("client_ca_file", SettingValue.absolutePath),
            insecure: insecure,
            accessSecretFile: try section.value("access_secret_file", SettingValue.absolutePath),
            virtualHost: try section.text("vhost") ?? "/",
            advertise: try section.value("advertise", BrokerURI.init(_:))?.description)
        try check(broker, section, hasTLS: ownCertificates || broker.identity != nil)
        try checkAccess(broker, section)
        return broker
    }

    private static func check(
        _ broker: Broker, _ section: TOMLSection, hasTLS: Bool
    ) throws(SettingsError) {
        switch broker.mode {
        case .external:
            guard broker.uri != nil else {
                throw section.fault("uri", "is missing: mode \"external\" needs it")
            }
            if try section.text("listen") != nil {
                throw section.fault("listen", "is only for mode = \"embedded\"")
            }
            guard broker.clientCAFile == nil else {
                throw section.fault("client_ca_file", "is only for mode = \"embedded\"")
            }
        case .embedded:
            // CONNECT packets carry passwords.
            guard hasTLS || broker.insecure || ListenAddress(
                host: broker.listenHost, port: broker.listenPort
            ).isLoopback else {
                throw section.fault(
                    "listen", "plain MQTT outside loopback: set certificate_file and key_file, or "
                        + "own = true in [tls], or, without encryption, insecure = true")
            }
            guard hasTLS || broker.clientCAFile == nil else {
                throw section.fault(
                    "client_ca_file", "needs TLS: certificate_file, or [tls] own = true")
            }
            for key in ["uri", "username", "password_file", "ca_file"]
            where try section.text(key) != nil {
                throw section.fault(key, "is only for mode = \"external\"")
            }
        }
        guard broker.passwordFile == nil || broker.username != nil else {
            throw section.fault("password_file", "a password needs a username")
        }
    }

    /// Checks the settings of `access = "http"`. It needs an external broker, and a login for the
    /// authority itself: the broker asks about that login, too.
    private static func checkAccess(
        _ broker: Broker, _ section: TOMLSection
    ) throws(SettingsError) {
        guard broker.access == .http else {
            for key in ["access_secret_file", "vhost"] where try section.text(key) != nil {
                throw section.fault(key, "is only for access = \"http\"")
            }
            return
        }
        guard broker.mode == .external else {
            throw section.fault("access", "\"http\" needs mode = \"external\"")
        }
        guard broker.accessSecretFile != nil else {
            throw section.fault(
                "access_secret_file", "is missing: it shows that a request is from the broker")
        }
        guard broker.username != nil, broker.passwordFile != nil else {
            throw section.fault(
                "password_file", "is missing: the authority needs a login here, too")
        }
    }
}
