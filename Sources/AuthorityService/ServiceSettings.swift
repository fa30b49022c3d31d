import AuthorityCore
import Mosquitto
import Sessions
import Wire

/// What `serve` needs to know, whatever file it comes from.
struct ServiceSettings: Sendable {
    enum Broker: Sendable {
        /// A mosquitto of our own, at a loopback address.
        case embedded(host: String, port: UInt16)
        case external(uri: BrokerURI, username: String?, passwordFile: String?, caFile: String?)
    }

    var name: String
    var stateDirectory: String
    var listen: (host: String, port: UInt16)
    var publicURL: String
    var applicationID: String
    var root: TopicRoot
    var broker: Broker
    /// Whether boards and programs get their logins from us, by dynamic security.
    var managesBrokerAccess: Bool
    var lifetimes: LifetimePolicy

    static let version = "0.1.0"

    var rules: AuthorityRules {
        AuthorityRules(
            info: AuthorityInfo(
                name: name, applicationID: applicationID, publicURL: publicURL,
                topicRoot: root, version: Self.version),
            lifetimes: lifetimes, managesBrokerAccess: managesBrokerAccess)
    }
}
