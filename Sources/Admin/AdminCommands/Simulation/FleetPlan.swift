import MQTT
import Sessions
import Wire

/// All that a simulated fleet is told before it begins.
struct FleetPlan: Sendable {
    var boards: Int
    var connections: Int
    var root: TopicRoot
    var uri: BrokerURI
    var tls: TLSOptions
    /// The broker's numeric address, where its name was looked up.
    var address: String?
    /// Nil: what the provisioning says.
    var heartbeat: Duration?
    /// Nil: before the access token ends.
    var refresh: Duration?
    /// Between two messages of one board; nil for none.
    var telemetry: Duration?
    /// Bytes of each message.
    var payload = 100
    var faults = FaultPlan.none
    var seed: UInt64 = 1
    /// How long a request waits for its answer before it is repeated.
    var patience = Duration.seconds(10)
    /// Over how long a fleet that lost its connections spreads its return.
    var spread = Duration.seconds(30)
    /// The longest that 155 puts a board off, its draw apart; nil: as it is told.
    var putOff: Duration?
    /// How long the load lasts.
    var span = Duration.seconds(60)
    var threads = 1
    var wall: @Sendable () -> Timestamp

    /// Whether each board has a connection and a login of its own.
    var isOneEach: Bool { connections == boards }

    /// Whether each connection must do with one descriptor and little memory.
    var isCrowded: Bool { connections > 100 }

    /// The app that the telemetry comes from, and its class.
    static let app = "simulated"
    static let className = "Simulated"
}
