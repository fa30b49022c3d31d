import AgentCore
import ConfigurationFiles
import Doctor
import Gate
import LinuxIO
import MQTT
import Sessions
import Wire

/// What doctor tries at the board's own broker. What it publishes is empty, not retained, and on
/// a topic that nobody reads.
enum BusProbe {
    /// No program has this name: nothing of a program's is touched.
    static let topic = "postern/app/postern-doctor/trial"

    /// With the agent's login: what the agent reads and writes.
    static func agent(
        _ bus: BoardSettings.Bus, _ password: SecretBytes?, _ routes: [Route]
    ) -> BrokerKnock.Answer {
        BrokerKnock.knock(
            options(bus, bus.username, password),
            subscribing: BusTopic.requests + routes.map(\.from.description), publishing: [topic])
    }

    /// Without a login: what a program must not write.
    static func stranger(_ bus: BoardSettings.Bus) -> BrokerKnock.Answer {
        BrokerKnock.knock(options(bus, nil, nil), publishing: [topic])
    }

    /// Under a name of its own, so that nobody's session is taken over.
    static func options(
        _ bus: BoardSettings.Bus, _ username: String?, _ password: SecretBytes?,
        _ purpose: String = "doctor"
    ) -> ConnectOptions {
        ConnectOptions(
            uri: bus.uri, clientID: clientID(purpose), keepAlive: 0,
            username: username, password: password,
            tls: TLSOptions(
                caFile: bus.caFile, certificateFile: bus.identity?.certificateFile,
                keyFile: bus.identity?.keyFile))
    }

    static func clientID(_ purpose: String) -> String {
        "postern-\(purpose)-\(ProcessIdentity.processID)"
    }
}
