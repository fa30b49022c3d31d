package import AuthorityBroker
package import AuthorityCore
import AuthorityHTTP
import AuthorityStore
import ConfigurationFiles
import Cryptography
import Foundation
import LinuxIO
import Logging
import MQTT
import Sessions
import Wire

// The parts that depend on the kind of broker.
extension AuthorityServer {
    static func embedded(
        _ settings: ServiceSettings, _ folder: StateFolder, _ records: [KeyRecord],
        _ logger: Logger
    ) throws -> EmbeddedBroker? {
        guard case .embedded(let host, let port) = settings.broker else { return nil }
        return EmbeddedBroker(
            folder: folder.broker, host: host, port: port, root: settings.root,
            password: try KeyRing.newest(.brokerPassword, records).privateKey,
            discovery: settings.discoveryPrefix,
            tls: settings.brokerHasTLS ? EmbeddedBroker.BrokerTLS(
                files: settings.brokerIdentity ?? folder.certificates.files(of: .broker),
                clientCAFile: settings.brokerClientCAFile) : nil,
            logger: logger)
    }

    package static func login(
        _ settings: ServiceSettings, _ folder: StateFolder, _ records: [KeyRecord]
    ) throws -> BrokerLink.BrokerLogins {
        switch settings.broker {
        case .embedded(let host, let port):
            return BrokerLink.BrokerLogins(
                uri: try BrokerURI(
                    settings.brokerHasTLS ? "unix:\(EmbeddedBroker.socket(in: folder.broker))"
                        : address(host, port)), clientID: EmbeddedBroker.username,
                username: EmbeddedBroker.username,
                password: try KeyRing.newest(.brokerPassword, records).privateKey, caFile: nil,
                isAlone: true)
        case .external(let uri, let username, let passwordFile, let caFile):
            let password = try passwordFile.map { file in
                SecretBytes(Self.firstLine(try PrivateFile.read(file, limit: 4096)))
            }
            return BrokerLink.BrokerLogins(
                uri: uri, clientID: try externalClientID(), username: username,
                password: password, caFile: caFile,
                identity: settings.brokerIdentity, isAlone: false)
        }
    }

    static func tap(
        _ settings: ServiceSettings, _ keys: AuthorityKeys, _ own: BrokerLink.BrokerLogins,
        _ link: BrokerLink, _ live: LiveBoards, _ logger: Logger
    ) throws -> LiveDataReader {
        let random = Base64URL.encode(try RandomBytes.make(8))
        let (login, admit) = try dataLogin(settings, keys, own, link, client: random)
        return LiveDataReader(
            login: login, root: settings.root, admit: admit, live: live,
            empty: { topic throws(AuthorityError) in
                try await link.publish(OutgoingMessage(topic: topic, payload: [], retain: true))
            }, logger: logger)
    }

    /// The login of a connection that reads data, and how it is admitted: see `LiveDataReader`.
    static func dataLogin(
        _ settings: ServiceSettings, _ keys: AuthorityKeys, _ own: BrokerLink.BrokerLogins,
        _ link: BrokerLink, client: String
    ) throws -> (
        login: BrokerLink.BrokerLogins,
        admit: (@Sendable (_ wasRefused: Bool) async throws(AuthorityError) -> Void)?
    ) {
        let account = settings.managesBrokerAccess
            ? try LiveDataReader.account(keys: keys, root: settings.root) : nil
        let login = BrokerLink.BrokerLogins(
            uri: own.uri, clientID: "\(LiveDataReader.username)-\(client)",
            username: account?.username ?? own.username,
            password: account?.password ?? own.password, caFile: own.caFile,
            identity: own.identity, isAlone: false)
        guard let account, settings.access == .dynamicSecurity,
            case .external = settings.broker
        else { return (login, nil) }
        return (login, { wasRefused async throws(AuthorityError) in
            try await LiveDataReader.admit(account, over: link, wasRefused: wasRefused)
        })
    }

    /// A new id for each start. With a fixed id, replicas would cut each other off, and so could
    /// any client that may choose its id.
    static func externalClientID() throws -> String {
        let random = try RandomBytes.make(8)
        return "\(EmbeddedBroker.username)-\(Base64URL.encode(random))"
    }

    static func metrics(
        _ settings: ServiceSettings, _ store: any ServiceStore, _ tally: TallyCache,
        _ traffic: BoardTraffic, _ refusals: RefusalLog, _ link: BrokerLink,
        _ clock: ClockGuard, _ alerts: AlertService, _ data: DataTally?, _ logger: Logger
    ) -> MetricsService? {
        settings.metrics.map { place in
            MetricsService(place: place, logger: logger) { () async throws(AuthorityError) in
                // The counts may be old, so this checks that the store answers now.
                _ = try await store.latestTime()
                return AuthorityMetrics(
                    counted: try await tally.counted(), traffic: traffic.tally,
                    refusals: refusals.tally,
                    isBrokerUp: await link.isUp, isClockBelieved: clock.mayAnswer,
                    isDiskFull: store.isDiskFull, lifetimes: settings.rules.lifetimes,
                    now: systemClock(), alerts: alerts.tally, data: data?.counts)
            }
        }
    }

    static func alerts(
        _ settings: ServiceSettings, _ authority: Authority, _ store: any ServiceStore,
        _ link: BrokerLink, _ clock: ClockGuard, _ live: LiveBoards, _ fleet: FleetSize,
        _ logger: Logger
    ) -> AlertService {
        let rules = settings.alerts.rules
        let beats = settings.rules.heartbeat * 2 + min(.seconds(60), rules.offlineAfter)
        let channels = settings.alertChannels
        let push = settings.alerts.push.map { push in
            PushService(
                authority: authority, store: store, settings: push,
                publicURL: channels.publicURL, trust: { channels.trustOrNil() })
        }
        return AlertService(
            authority: authority, store: store, link: link, clock: clock, channels: channels,
            push: push, rules: rules,
            grace: { beats + (fleet.spread ?? .zero) }, lastData: { live.lastData(of: $0) },
            logger: logger)
    }

    /// Ready while the store answers.
    static func readiness(of store: any ServiceStore, data: DataTally?) -> Readiness {
        Readiness({
            do throws(AuthorityError) {
                _ = try await store.latestTime()
                return true
            } catch {
                return false
            }
        }, isFull: { store.isDiskFull }, isDataWaiting: { data?.counts.waiting != nil })
    }

    static func consumerAccess(
        _ settings: ServiceSettings, ca: String?
    ) throws -> ConsumerAccess? {
        guard settings.managesBrokerAccess else { return nil }
        var place = try place(settings, ca: ca)
        place.checksDeliveries = settings.access == .dynamicSecurity
        place.fingerprint = try place.ca.flatMap { pem in
            try Certificate.chain(pem: Array(pem.utf8)).first
                .flatMap { CertificateFingerprint(bytes: $0.sha256) }?.description
        }
        return place
    }

    private static func place(
        _ settings: ServiceSettings, ca: String?
    ) throws -> ConsumerAccess {
        switch settings.broker {
        case .embedded(let host, let port):
            if let place = brokerPlace(settings, ca: ca) { return place }
            return ConsumerAccess(uri: settings.advertise ?? address(host, port), ca: nil)
        case .external(let uri, _, _, let caFile):
            let ca = try caFile.map { try String(contentsOfFile: $0, encoding: .utf8) }
            return ConsumerAccess(uri: settings.advertise ?? uri.description, ca: ca)
        }
    }

    static func address(_ host: String, _ port: UInt16) -> String {
        host.contains(":") ? "mqtt://[\(host)]:\(port)" : "mqtt://\(host):\(port)"
    }

    package static func firstLine(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    }
}
