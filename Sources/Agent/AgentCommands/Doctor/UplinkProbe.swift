import AgentCore
import AgentService
import ConfigurationFiles
import Doctor
import LinuxIO
import MQTT
import Sessions
import Wire

/// Doctor's tries on the path to the upstream broker.
enum UplinkProbe {
    /// How long the login may take while the state folder is locked. An agent that starts then
    /// waits as long.
    private static let patience = Duration.milliseconds(2500)

    /// Tries to reach the broker that the agent uses: the one from its provisioning, or else the
    /// one in `agent.toml`.
    static func reach(_ settings: BoardSettings, _ status: JSONObject?) -> Reach {
        let (uri, tls) = way(settings, status)
        return Reach(to: uri, tls)
    }

    static func way(
        _ settings: BoardSettings, _ status: JSONObject?
    ) -> (uri: BrokerURI, tls: TLSOptions) {
        let learned = try? status?.object("place")
        let uri = learned?.text("uri").flatMap { try? BrokerURI($0) } ?? settings.uplink.uri
        var tls = TLSOptions(
            caFile: settings.uplink.caFile,
            certificateFile: settings.uplink.identity?.certificateFile,
            keyFile: settings.uplink.identity?.keyFile)
        // The same as in `UplinkLink`.
        tls.isClockSlow = true
        let file = "\(settings.stateDir)/uplink-ca.pem"
        if learned?.members["ca"] == .bool(true), PrivateFile.isThere(file) { tls.caFile = file }
        return (uri, tls)
    }

    /// Logs in as this board, without its last will, and subscribes its inbox. Nil if the board
    /// has no login, or its state cannot be opened.
    static func login(
        _ place: BoardPlace, at address: String?, root: TopicRoot
    ) -> BrokerLoginTest.Answer? {
        var answer: BrokerLoginTest.Answer?
        UplinkTrial.withLogin(place.configDir, at: address) { options, board in
            let inbox = ContractTopic.inbox(board).text(under: root)
            answer = BrokerLoginTest.knock(options, subscribing: [inbox], patience: patience)
        }
        return answer
    }
}
