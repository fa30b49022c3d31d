import AgentCore
import Diagnosis
import LinuxIO
import Mosquitto
import Sessions
import Settings
import Wire

/// What doctor tries of the way upstream.
enum UplinkProbe {
    /// How long the state folder is held for it: an agent that starts then waits as long.
    private static let patience = Duration.milliseconds(2500)

    /// To where the agent goes: where its provisioning sent it, or where `agent.toml` does.
    static func reach(_ settings: BoardSettings, _ status: JSONObject?) -> Reach {
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
        return Reach(to: uri, tls)
    }

    /// Logs in as this board, without its last will, and subscribes its inbox; nil where the
    /// board has no login, or its state cannot be opened.
    ///
    /// Only while no agent runs, and the folder is held meanwhile: a broker ends the connection
    /// of whoever has the same client id.
    static func login(_ place: BoardPlace, at address: String?) -> BrokerKnock.Answer? {
        guard let files = try? BoardFiles(place), let board = try? StandingBoard(files),
            let made = try? board.makeAgent()
        else { return nil }
        var agent = made.0
        let identity = made.1
        guard let login = agent.loginToTry(at: .current) else { return nil }
        let goal = files.uplinkDefaults.place(of: login)
        let identityFiles = files.settings.uplink.identity
        let inbox = ContractTopic.inbox(identity.installation).text(
            under: files.settings.topicRoot)
        var options = ConnectOptions(
            uri: goal.uri, address: address, clientID: login.clientID, keepAlive: 0,
            username: login.username, password: login.password,
            tls: TLSOptions(
                caFile: files.uplinkDefaults.caFile,
                certificateFile: identityFiles?.certificateFile,
                keyFile: identityFiles?.keyFile))
        if goal.ca != nil { options.tls.caFile = files.uplinkDefaults.learnedCAFile }
        let answer = BrokerKnock.knock(options, subscribing: [inbox], patience: patience)
        withExtendedLifetime(files) {}
        board.release()
        return answer
    }
}
