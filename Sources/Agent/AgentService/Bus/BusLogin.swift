import MQTT
import Sessions
import Wire

/// The agent's login at the local broker.
struct BusLogin: Sendable {
    var uri: BrokerURI
    var username: String?
    var password: SecretBytes?
    var clientName: BusClientName
    var tls = TLSOptions()
    /// The topic filters to subscribe: the agent's own, and those of the routes.
    var filters: [String]
    /// The last will: the payload of the health topic after the agent has gone.
    var will: [UInt8]
}
