package import Sessions
package import Wire

/// What `authority.toml` says, with its defaults.
package struct AuthoritySettings: Equatable, Sendable {
    package var name: String
    package var stateDir: String
    /// Where the records stand.
    package var store: StorePlace
    /// The key that wraps the store's secrets: a path, or `credential:NAME` for one that systemd
    /// hands to the service; nil: `authority.key` in the state folder. All who share a store
    /// share it.
    package var masterKeyFile: String?
    package var topicRoot: TopicRoot
    package var http: HTTP
    package var broker: Broker
    package var lifetimes: LifetimePolicy
    /// How often boards show that they live; whole seconds.
    package var heartbeat: Duration
    /// How long boards use a session without us.
    package var offline: Duration
    /// Over how long boards spread what all of them want at one moment; nil: by their number.
    package var spread: Duration?
    /// How long a provisioning waits for its board.
    package var claimLifetime: Duration
    package var signUp: SignUpPolicy
    /// Whether the console hears what boards send; `[console] live`.
    package var showsLiveData: Bool
    /// What Parse's own routes may do with `_Session`.
    package var sessionPermissions: ClassPermissions
    /// Who else may say who a person is.
    package var logins: [Login]
    package var logLevel: LogLevel
    package var logFormat: LogFormat
    /// The certificates that the authority makes itself; nil: it makes none.
    package var tls: OwnCertificates?
    /// Where figures are given out in Prometheus' text form; nil nowhere.
    package var metrics: MetricsPlace?

    package struct HTTP: Equatable, Sendable {
        /// IPv6 without brackets.
        package var listenHost: String
        package var listenPort: UInt16
        /// Without a slash at its end.
        package var publicURL: String
        package var appID: String
        /// The folder with the console's page; nil looks for it.
        package var console: String?
        /// Addresses of our own proxies, whose `X-Forwarded-For` says who asks, and which may
        /// have more than the 64 connections of others.
        package var proxies: [String]
        package var parse: ParseHTTP
        /// A certificate made elsewhere; it wins over one of our own.
        package var identity: TLSIdentity?
        /// PEM; whoever connects shows a certificate that one of them signed.
        package var clientCAFile: String?
        /// Whether plain HTTP may leave this machine.
        package var insecure: Bool
    }

    package struct Broker: Equatable, Sendable {
        package var mode: BrokerMode
        /// Of the embedded broker.
        package var listenHost: String
        package var listenPort: UInt16
        package var access: BrokerAccess
        /// Of an external broker, which always has one.
        package var uri: BrokerURI?
        package var username: String?
        package var passwordFile: String?
        package var caFile: String?
        /// Of an embedded broker the one it shows, of an external one ours.
        package var identity: TLSIdentity?
        /// PEM, of an embedded broker: boards and programs show a certificate that one of them
        /// signed, and log in all the same.
        package var clientCAFile: String?
        /// Whether plain MQTT may leave this machine.
        package var insecure: Bool
        /// Of access by HTTP: what the broker shows to be answered.
        package var accessSecretFile: String?
        /// Of access by HTTP: RabbitMQ's virtual host, in which boards and programs live.
        package var virtualHost: String
        /// The address that boards and programs are told; nil is the one we use.
        package var advertise: String?
    }

    /// Who may become a user.
    package enum SignUpPolicy: String, Sendable, CaseIterable {
        /// Whoever comes; an administrator still decides who may claim boards.
        case open
        /// Only whom an administrator adds.
        case closed
    }

    package enum BrokerMode: String, Sendable, CaseIterable {
        /// A mosquitto of our own.
        case embedded
        case external
    }

    package enum BrokerAccess: String, Sendable, CaseIterable {
        /// We let boards in, through mosquitto's plugin.
        case dynamicSecurity = "dynamic-security"
        /// We let boards in; the broker asks us over HTTP about each.
        case http
        /// Somebody else does.
        case none
    }

    /// Reads the text of `authority.toml`. A variable `POSTERN_` + the upper-cased path wins
    /// over the file. An unknown key, a value of another form and a lifetime outside the
    /// contract's limits are errors.
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
        let lifetimes = try SessionTimes.lifetimes(session, heartbeat: heartbeat)
        return AuthoritySettings(
            name: try root.value("name", SettingValue.displayName) ?? "Postern",
            stateDir: try root.value("state_dir", SettingValue.absolutePath)
                ?? "/var/lib/postern-authority",
            store: try StorePlace(root),
            masterKeyFile: try root.value("master_key_file", SettingValue.keyPlace),
            topicRoot: try root.value("topic_root", SettingValue.topicRoot) ?? .standard,
            http: try http(root.section("http"), ownCertificates: tls != nil),
            broker: try broker(root.section("broker"), ownCertificates: tls != nil),
            lifetimes: lifetimes,
            heartbeat: heartbeat,
            offline: try SessionTimes.offline(session, absolute: lifetimes.absolute),
            spread: try session.value("spread", SettingValue.spread),
            claimLifetime: try claim.value("expires", SettingValue.span) ?? .seconds(86_400),
            signUp: signUp,
            showsLiveData: try console.flag("live") ?? true,
            sessionPermissions: try ClassPermissions(session.section("permissions")),
            logins: try Login.all(root.section("login"), signUp: signUp == .open),
            logLevel: try root.value("log_level", SettingValue.choice) ?? .info,
            logFormat: try root.value("log_format", SettingValue.choice) ?? .text,
            tls: tls,
            metrics: try MetricsPlace(root.section("metrics")))
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
        // Passwords and session tokens travel over it.
        guard hasTLS || insecure || listen.isLoopback else {
            throw section.fault(
                "listen", "plain HTTP off loopback: certificate_file and key_file, or [tls] "
                    + "own = true, or insecure = true if you must")
        }
        let clientCAFile = try section.value("client_ca_file", SettingValue.absolutePath)
        guard hasTLS || clientCAFile == nil else {
            throw section.fault("client_ca_file", "without a certificate of ours there is no TLS")
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

    /// Addresses, as a connection shows them; no names and no ranges.
    private static func proxies(_ section: TOMLSection) throws(SettingsError) -> [String] {
        let addresses = try section.texts("proxies") ?? []
        for (index, address) in addresses.enumerated() {
            guard (2...45).contains(address.utf8.count),
                address.contains(".") || address.contains(":"),
                address.utf8.allSatisfy({ "0123456789abcdefABCDEF.:".utf8.contains($0) })
            else { throw section.fault("proxies", element: index, "one element is no address") }
        }
        return addresses
    }

    /// It travels in a header, which a stray byte would break.
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
                throw section.fault("uri", "is missing: mode \"external\" needs a broker")
            }
            if try section.text("listen") != nil {
                throw section.fault("listen", "only an embedded broker listens for us")
            }
            guard broker.clientCAFile == nil else {
                throw section.fault("client_ca_file", "only an embedded broker asks for us")
            }
        case .embedded:
            // CONNECTs carry passwords.
            guard hasTLS || broker.insecure || ListenAddress(
                host: broker.listenHost, port: broker.listenPort
            ).isLoopback else {
                throw section.fault(
                    "listen", "plain MQTT off loopback: certificate_file and key_file, or [tls] "
                        + "own = true, or insecure = true if you must")
            }
            guard hasTLS || broker.clientCAFile == nil else {
                throw section.fault(
                    "client_ca_file", "without a certificate of ours there is no TLS")
            }
            for key in ["uri", "username", "password_file", "ca_file"]
            where try section.text(key) != nil {
                throw section.fault(key, "only an external broker has it: mode = \"external\"")
            }
        }
        guard broker.passwordFile == nil || broker.username != nil else {
            throw section.fault("password_file", "a password goes with a username")
        }
    }

    /// Access by HTTP is for a broker that is not ours, and asks us about ourselves, too.
    private static func checkAccess(
        _ broker: Broker, _ section: TOMLSection
    ) throws(SettingsError) {
        guard broker.access == .http else {
            for key in ["access_secret_file", "vhost"] where try section.text(key) != nil {
                throw section.fault(key, "only a broker that asks has it: access = \"http\"")
            }
            return
        }
        guard broker.mode == .external else {
            throw section.fault("access", "only an external broker asks over HTTP")
        }
        guard broker.accessSecretFile != nil else {
            throw section.fault(
                "access_secret_file", "is missing: by it the broker is known that asks")
        }
        guard broker.username != nil, broker.passwordFile != nil else {
            throw section.fault(
                "password_file", "is missing: the broker asks for our own login, too")
        }
    }
}
