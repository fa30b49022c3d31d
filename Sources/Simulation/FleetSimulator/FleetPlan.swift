package import AgentCore
package import MQTT
package import Sessions
package import Wire

/// The settings of a simulated fleet.
package struct FleetPlan: Sendable {
    package var boards: Int
    package var root: TopicRoot
    package var uri: BrokerURI
    package var tls: TLSOptions
    /// The broker's numeric address, if its name was looked up.
    package var address: String?
    /// The version that the boards report for their program.
    package var version: String
    /// The pause between two messages of one board; nil for no telemetry.
    package var telemetry: Duration?
    /// The size of each message, in bytes.
    package var payload = 100
    package var faults = FaultPlan()
    package var seed: UInt64 = 1
    /// Boards that lost their connections spread their reconnects over this time.
    package var spread = Duration.seconds(30)
    package var threads = 1
    package var wall: @Sendable () -> Timestamp

    package init(
        boards: Int, root: TopicRoot, uri: BrokerURI, tls: TLSOptions, version: String,
        wall: @escaping @Sendable () -> Timestamp
    ) {
        self.boards = boards
        self.root = root
        self.uri = uri
        self.tls = tls
        self.version = version
        self.wall = wall
    }

    /// Above this number each connection uses only one descriptor and little memory.
    package static let crowd = 100
    /// The app that sends the telemetry, and its class.
    static let app = "simulated"
    static let className = "Simulated"
}

/// One span of load.
package struct FleetLoad: Sendable {
    package var span: Duration
    package var pace: RequestPace
    /// The most boards that make requests at the same moment; nil: no limit.
    package var inFlight: Int?

    package init(span: Duration, pace: RequestPace, inFlight: Int? = nil) {
        self.span = span
        self.pace = pace
        self.inFlight = inFlight
    }
}

/// Why a fleet could not run.
package enum FleetFailure: Error {
    case system(String)
    case offline(layer: String, text: String)
    /// A claim was refused. The error comes from the caller.
    case claim(any Error)
}
