import AuthorityCore
import ConfigurationFiles
import Foundation
import LinuxIO
import Sessions
import Wire

/// What `serve` needs to know, whatever file it comes from.
struct ServiceSettings: Sendable {
    enum Broker: Sendable {
        /// A mosquitto of our own.
        case embedded(host: String, port: UInt16)
        case external(uri: BrokerURI, username: String?, passwordFile: String?, caFile: String?)
    }

    var stateDirectory: String
    var store = StorePlace.file
    /// A path or `credential:NAME`; nil: `authority.key` in the state folder.
    var masterKeyFile: String?
    var listen: (host: String, port: UInt16)
    var broker: Broker
    /// Who lets boards and programs in, and how.
    var access = AuthoritySettings.BrokerAccess.dynamicSecurity
    /// Of access by HTTP: what the broker shows to be answered, and its virtual host.
    var accessSecretFile: String?
    var virtualHost = "/"
    /// The address that programs are told; nil is the one we use.
    var advertise: String?
    var rules: AuthorityRules
    var logLevel = LogLevel.info
    var logFormat = LogFormat.text
    /// Where figures are given out; nil nowhere.
    var metrics: MetricsPlace?
    /// The folder with the console's page; nil looks for it.
    var console: String?
    /// Whether the console hears what boards send.
    var showsLiveData = true
    /// Whose `X-Forwarded-For` counts.
    var proxies: [String] = []
    /// Over how long boards spread what all want at one moment; nil: by their number.
    var spread: Duration?
    /// Where Parse's API stands, and the files of its keys.
    var parse = ParseHTTP()
    var sessionPermissions = ClassPermissions()
    /// Where the keys are of those who may say who a person is.
    var keySets: [LoginProvider: AuthoritySettings.KeySetPlace] = [:]

    /// The names that our own certificates are for; nil: we make none.
    var ownHosts: [String]?
    /// Certificates that were made elsewhere; for an external broker the one that we show.
    var pageIdentity: TLSIdentity?
    var brokerIdentity: TLSIdentity?
    /// Whoever asks shows a certificate that one of these signed.
    var pageClientCAFile: String?
    var brokerClientCAFile: String?

    static let version = "0.1.0"

    var root: TopicRoot { rules.info.topicRoot }
    /// Whether boards and programs get their logins from us, however the broker hears of them.
    var managesBrokerAccess: Bool { rules.managesBrokerAccess }
}

extension ServiceSettings {
    private static let limit = 1 << 20

    /// Reads `authority.toml` in `folder`; without the file the defaults hold, and the
    /// environment.
    static func read(from folder: String) throws -> ServiceSettings {
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

    init(_ settings: AuthoritySettings) throws(SettingsError) {
        stateDirectory = settings.stateDir
        store = settings.store
        masterKeyFile = settings.masterKeyFile
        listen = (settings.http.listenHost, settings.http.listenPort)
        advertise = settings.broker.advertise
        logLevel = settings.logLevel
        logFormat = settings.logFormat
        metrics = settings.metrics
        console = settings.http.console
        showsLiveData = settings.showsLiveData
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
                version: Self.version, longestSession: settings.lifetimes.absolute),
            lifetimes: settings.lifetimes, heartbeat: settings.heartbeat,
            offline: settings.offline, claimLifetime: settings.claimLifetime,
            managesBrokerAccess: settings.broker.access != .none,
            letsPeopleSignUp: settings.signUp == .open,
            providers: settings.logins.map { login in
                IdentityProvider(
                    name: login.name, issuer: login.issuer, audiences: Set(login.audience),
                    letsPeopleSignUp: login.signUp)
            })
        for login in settings.logins { keySets[login.name] = login.keys }
    }

    private static func broker(
        _ broker: AuthoritySettings.Broker
    ) throws(SettingsError) -> Broker {
        switch broker.mode {
        case .embedded:
            guard broker.access == .dynamicSecurity else {
                throw SettingsError(
                    file: "authority.toml",
                    message: "broker.access: only an external broker can do without")
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
