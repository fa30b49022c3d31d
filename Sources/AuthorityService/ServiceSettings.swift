import AuthorityCore
import Foundation
import LinuxIO
import Sessions
import Settings
import Wire

/// What `serve` needs to know, whatever file it comes from.
struct ServiceSettings: Sendable {
    enum Broker: Sendable {
        /// A mosquitto of our own, at a loopback address.
        case embedded(host: String, port: UInt16)
        case external(uri: BrokerURI, username: String?, passwordFile: String?, caFile: String?)
    }

    var stateDirectory: String
    var listen: (host: String, port: UInt16)
    var broker: Broker
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
    /// Where Parse's API stands, and the files of its keys.
    var parse = ParseHTTP()
    var sessionPermissions = ClassPermissions()
    /// Where the keys are of those who may say who a person is.
    var keySets: [LoginProvider: AuthoritySettings.KeySetPlace] = [:]

    static let version = "0.1.0"

    var root: TopicRoot { rules.info.topicRoot }
    /// Whether boards and programs get their logins from us, by dynamic security.
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
        listen = (settings.http.listenHost, settings.http.listenPort)
        advertise = settings.broker.advertise
        logLevel = settings.logLevel
        logFormat = settings.logFormat
        metrics = settings.metrics
        console = settings.http.console
        showsLiveData = settings.showsLiveData
        proxies = settings.http.proxies
        parse = settings.http.parse
        sessionPermissions = settings.sessionPermissions
        broker = try Self.broker(settings.broker)
        rules = AuthorityRules(
            info: AuthorityInfo(
                name: settings.name, applicationID: settings.http.appID,
                publicURL: settings.http.publicURL, topicRoot: settings.topicRoot,
                version: Self.version, longestSession: settings.lifetimes.absolute),
            lifetimes: settings.lifetimes, heartbeat: settings.heartbeat,
            offline: settings.offline, claimLifetime: settings.claimLifetime,
            managesBrokerAccess: settings.broker.access == .dynamicSecurity,
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
