package import AgentCore
package import MQTT
package import Sessions
package import Wire

/// All that a simulated fleet needs to know before it begins.
package struct FleetPlan: Sendable {
    package var boards: Int
    package var root: TopicRoot
    package var uri: BrokerURI
    package var tls: TLSOptions
    /// The broker's numeric address, where its name was looked up.
    package var address: String?
    /// What the boards call their program's version.
    package var version: String
    /// Between two messages of one board; nil for none.
    package var telemetry: Duration?
    /// Bytes of each message.
    package var payload = 100
    package var faults = FaultPlan()
    package var seed: UInt64 = 1
    /// Over how long boards that lost their connections spread their return.
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

    /// Above this each connection gets along with one descriptor and little memory.
    package static let crowd = 100
    /// The app that the telemetry comes from, and its class.
    static let app = "simulated"
    static let className = "Simulated"
}

/// One span of load.
package struct FleetLoad: Sendable {
    package var span: Duration
    package var pace: RequestPace
    /// How many boards ask at the same moment; nil: as many as are due.
    package var inFlight: Int?

    package init(span: Duration, pace: RequestPace, inFlight: Int? = nil) {
        self.span = span
        self.pace = pace
        self.inFlight = inFlight
    }
}

/// Why a fleet could not be run.
package enum FleetFailure: Error {
    case system(String)
    case offline(layer: String, text: String)
    /// A claim was refused; the caller's own error.
    case claim(any Error)
}
