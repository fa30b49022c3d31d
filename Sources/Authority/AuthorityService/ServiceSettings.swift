package import AuthorityCore
package import ConfigurationFiles
import Foundation
import Gate
import LinuxIO
import Sessions
package import Wire

/// The configuration of `serve`.
package struct ServiceSettings: Sendable {
    package enum Broker: Sendable {
        /// A mosquitto that the authority runs.
        case embedded(host: String, port: UInt16)
        case external(uri: BrokerURI, username: String?, passwordFile: String?, caFile: String?)
    }

    package var stateDirectory: String
    package var store = StorePlace.file
    /// A path or `credential:NAME`; nil: `authority.key` in the state folder.
    var masterKeyFile: String?
    package var listen: (host: String, port: UInt16)
    package var broker: Broker
    /// How the broker decides which boards and programs may connect.
    package var access = AuthoritySettings.BrokerAccess.dynamicSecurity
    /// For access by HTTP: the secret that the broker shows, and its virtual host.
    var accessSecretFile: String?
    var virtualHost = "/"
    /// The broker's address for programs; nil: the address that the authority uses.
    var advertise: String?
    package var rules: AuthorityRules
    package var logLevel = LogLevel.info
    package var logFormat = LogFormat.text
    /// Where metrics are served; nil: nowhere.
    var metrics: MetricsPlace?
    /// The folder with the console's page; nil: search for it.
    package var console: String?
    /// Whether the console receives the data that boards send.
    var showsLiveData = true
    /// How much of the boards' data is kept; nil: nothing.
    package var data: DataBounds?
    /// The first levels of the topics on which sensors are announced, or were.
    var discoveryPrefix = TopicRoot.homeAssistant
    /// The proxies whose `X-Forwarded-For` is trusted.
    var proxies: [String] = []
    /// The time over which boards spread requests that would all come at one moment; nil: computed
    /// from the number of boards.
    var spread: Duration?
    /// The path of Parse's API, and the files of its keys.
    var parse = ParseHTTP()
    var sessionPermissions = ClassPermissions()
    /// Where each login provider's keys are.
    var keySets: [LoginProvider: AuthoritySettings.KeySetPlace] = [:]
    /// The providers with a button on the page.
    package var loginButtons: [ProviderSource] = []

    /// The host names for the authority's own certificates; nil: it makes none.
    package var ownHosts: [String]?
    /// Certificates that were made elsewhere. For an external broker: the client certificate of the
    /// authority.
    var pageIdentity: TLSIdentity?
    package var brokerIdentity: TLSIdentity?
    /// CAs for client certificates. If set, a client must show a certificate that one of them
    /// signed.
    var pageClientCAFile: String?
    var brokerClientCAFile: String?

    package var alerts: AlertSettings

    package static let version = "0.1.0"

    package var root: TopicRoot { rules.info.topicRoot }
    /// Whether the authority gives boards and programs their broker logins.
    package var managesBrokerAccess: Bool { rules.managesBrokerAccess }
}

extension ServiceSettings {
    private static let limit = 1 << 20

    /// Reads `authority.toml` in `folder`. If there is no file, the defaults and the environment
    /// apply.
    package static func read(from folder: String) throws -> ServiceSettings {
        let file = "\(folder)/authority.toml"
        var text = ""
        do throws(FileFailure) {
            text = String(
                decoding: try PrivateFile.read(file, limit: limit, strictestMode: 0o644),
                as: UTF8.self)
        } catch {
            guard case .missing = error else { throw error }
        }
        return try ServiceSettings(
            AuthoritySettings.parse(
                text, file: "authority.toml", environment: LinuxIO.Environment.value))
    }

    package init(_ settings: AuthoritySettings) throws(SettingsError) {
        stateDirectory = settings.stateDir
        store = settings.store
        masterKeyFile = settings.masterKeyFile
        listen = (settings.http.listenHost, settings.http.listenPort)
        advertise = settings.broker.advertise
        alerts = settings.alerts
        logLevel = settings.logLevel
        logFormat = settings.logFormat
        metrics = settings.metrics
        console = settings.http.console
        showsLiveData = settings.showsLiveData
        data = settings.data.keep == .zero ? nil : DataBounds(
            keep: settings.data.keep, maxBytes: Int64(settings.data.maxBytes.bytes))
        discoveryPrefix = settings.sensorDiscovery.prefix
        proxies = settings.http.proxies
        spread = settings.spread
        parse = settings.http.parse
        sessionPermissions = settings.sessionPermissions
        ownHosts = settings.tls?.hosts
        pageIdentity = settings.http.identity
        brokerIdentity = settings.broker.identity
        pageClientCAFile = settings.http.clientCAFile
        brokerClientCAFile = settings.broker.clientCAFile
        broker = try Self.broker(settings.broker)
        access = settings.broker.access
        accessSecretFile = settings.broker.accessSecretFile
        virtualHost = settings.broker.virtualHost
        rules = AuthorityRules(
            info: AuthorityInfo(
                name: settings.name, applicationID: settings.http.appID,
                publicURL: settings.http.publicURL, topicRoot: settings.topicRoot,
                version: Self.version, longestSession: settings.lifetimes.absolute,
                idleSession: settings.lifetimes.idle),
            lifetimes: settings.lifetimes, heartbeat: settings.heartbeat,
            offline: settings.offline, claimLifetime: settings.claimLifetime,
            managesBrokerAccess: settings.broker.access != .none,
            letsPeopleSignUp: settings.signUp == .open,
            providers: settings.logins.map { login in
                IdentityProvider(
                    name: login.name, issuer: login.issuer, audiences: Set(login.audience),
                    letsPeopleSignUp: login.signUp,
                    entry: login.button.map { button in
                        IdentityProvider.PageEntry(
                            clientID: button.clientID, title: button.title)
                    })
            })
        rules.takesPasswords = settings.takesPasswords
        rules.commandRate = settings.commandRate
        rules.discovery = settings.sensorDiscovery.isOn ? discoveryPrefix : nil
        for login in settings.logins { keySets[login.name] = login.keys }
        loginButtons = settings.logins.compactMap(ProviderSource.init)
    }

    var alertChannels: AlertChannels {
        AlertChannels(
            settings: alerts, name: rules.info.name, publicURL: rules.info.publicURL)
    }

    /// The channels on which alerts are sent.
    package var alertsAreSentBy: [AlertChannel] { alertChannels.all }

    private static func broker(
        _ broker: AuthoritySettings.Broker
    ) throws(SettingsError) -> Broker {
        switch broker.mode {
        case .embedded:
            guard broker.access == .dynamicSecurity else {
                throw SettingsError(
                    file: "authority.toml",
                    message: "broker.access: an embedded broker needs \"dynamic-security\"")
            }
            return .embedded(host: broker.listenHost, port: broker.listenPort)
        case .external:
            guard let uri = broker.uri else {
                throw SettingsError(file: "authority.toml", message: "broker.uri is missing")
            }
            return .external(
                uri: uri, username: broker.username, passwordFile: broker.passwordFile,
                caFile: broker.caFile)
        }
    }
}
