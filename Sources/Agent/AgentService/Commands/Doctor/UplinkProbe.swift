import AgentCore
import ConfigurationFiles
import Doctor
import LinuxIO
import MQTT
import Sessions
import Wire

/// What doctor tries of the way upstream.
enum UplinkProbe {
    /// How long the state folder is held for it: an agent that starts then waits as long.
    private static let patience = Duration.milliseconds(2500)

    /// To where the agent goes: where its provisioning sent it, or where `agent.toml` does.
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
        // As the agent does: see `UplinkLink`.
        tls.isClockSlow = true
        let file = "\(settings.stateDir)/uplink-ca.pem"
        if learned?.members["ca"] == .bool(true), PrivateFile.isThere(file) { tls.caFile = file }
        return (uri, tls)
    }

    /// Logs in as this board, without its last will, and subscribes its inbox; nil where the
    /// board has no login, or its state cannot be opened.
    static func login(
        _ place: BoardPlace, at address: String?, root: TopicRoot
    ) -> BrokerKnock.Answer? {
        var answer: BrokerKnock.Answer?
        withLogin(place, at: address) { options, board in
            let inbox = ContractTopic.inbox(board).text(under: root)
            answer = BrokerKnock.knock(options, subscribing: [inbox], patience: patience)
        }
        return answer
    }

    /// Calls `body` with this board's login, once, or not at all where there is none.
    ///
    /// Only while no agent runs, and the folder is held meanwhile: a broker ends the connection
    /// of whoever has the same client id.
    static func withLogin(
        _ place: BoardPlace, at address: String?,
        _ body: (ConnectOptions, InstallationID) -> Void
    ) {
        guard let files = try? BoardFiles(place), let board = try? StandingBoard(files),
            let made = try? board.makeAgent()
        else { return }
        var agent = made.0
        guard let login = agent.loginToTry(at: .current) else { return }
        let goal = files.uplinkDefaults.place(of: login)
        let identityFiles = files.settings.uplink.identity
        var options = ConnectOptions(
            uri: goal.uri, address: address, clientID: login.clientID, keepAlive: 0,
            username: login.username, password: login.password,
            tls: TLSOptions(
                caFile: files.uplinkDefaults.caFile,
                certificateFile: identityFiles?.certificateFile,
                keyFile: identityFiles?.keyFile))
        if goal.ca != nil { options.tls.caFile = files.uplinkDefaults.learnedCAFile }
        body(options, made.1.installation)
        withExtendedLifetime(files) {}
        board.release()
    }
}
