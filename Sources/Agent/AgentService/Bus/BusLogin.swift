import MQTT
import Sessions
import Wire

/// How the agent logs in at the board's own broker.
struct BusLogin: Sendable {
    var uri: BrokerURI
    var username: String?
    var password: SecretBytes?
    var clientName: BusClientName
    var tls = TLSOptions()
    /// What is subscribed: the agent's own topics, and the routes'.
    var filters: [String]
    /// The last will: what the health topic says after the agent has gone.
    var will: [UInt8]
}
