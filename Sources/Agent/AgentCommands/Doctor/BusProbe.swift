import AgentCore
import ConfigurationFiles
import Doctor
import Gate
import LinuxIO
import MQTT
import Sessions
import Wire

/// Doctor's tries at the local broker. They publish empty messages, not retained, on a topic that
/// the agent ignores.
enum BusProbe {
    /// No app has this name, so no app is affected.
    static let topic = "postern/app/postern-doctor/rejected"

    /// Tries with the agent's login what the agent reads and writes.
    static func agent(
        _ bus: BoardSettings.Bus, _ password: SecretBytes?, _ routes: [Route]
    ) -> BrokerLoginTest.Answer {
        BrokerLoginTest.knock(
            options(bus, bus.username, password),
            subscribing: BusTopic.requests + BusTopic.strays + routes.map(\.from.description),
            publishing: [topic])
    }

    /// Tries without a login to write as an app.
    static func stranger(_ bus: BoardSettings.Bus) -> BrokerLoginTest.Answer {
        BrokerLoginTest.knock(options(bus, nil, nil), publishing: [topic])
    }

    /// Options with a client id of their own, so that no other session is taken over.
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
