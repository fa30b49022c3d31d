import AgentCore
import ConfigurationFiles
package import MQTT
package import Sessions
import Wire

/// The board's own login at the upstream broker, for tests of the connection.
package enum UplinkTrial {
    /// Calls `body` once with this board's login; not at all if there is no login.
    ///
    /// Works only while no agent runs, and locks the state folder meanwhile: a broker ends the
    /// older of two connections with one client id.
    package static func withLogin(
        _ folder: String, at address: String?,
        _ body: (ConnectOptions, InstallationID) -> Void
    ) {
        guard let files = try? BoardFiles(folder: folder), let board = try? OpenBoard(files),
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
