import AgentCore
import AgentService
import ConfigurationFiles
import Cryptography
import Doctor
import LinuxIO
import MQTT
import Sessions
import Wire

/// The tries of `doctor --prove` at both brokers, which must be refused.
enum BoardRightsProbe {
    /// The app whose login the tries use. Its password is in the configuration folder.
    static let prover = "postern-prove"
    static let passwordName = "prove-password"

    /// Tries at the local broker: without a login, as the agent, and as an app.
    static func bus(
        _ bus: BoardSettings.Bus, _ password: SecretBytes?, in folder: String
    ) -> RightsProof {
        var proof = RightsProof()
        let agent = BusProbe.options(bus, bus.username, password, "prove")
        proof.tryStrangers(at: agent)
        if bus.username != nil {
            let list = [RightsTrial.Act.publish(RightsProof.foreign)]
            let outcome = RightsTrial.run(list + RightsProof.controlActs, as: agent)
            proof.note(.list, list, of: outcome, as: "the agent's login")
            proof.note(
                .control, RightsProof.controlActs, of: outcome, as: "the agent's login")
        }
        tryApp(bus, agent, in: folder, &proof)
        return proof
    }

    private static func tryApp(
        _ bus: BoardSettings.Bus, _ agent: ConnectOptions, in folder: String,
        _ proof: inout RightsProof
    ) {
        var app = bus
        app.username = prover
        app.passwordFile = "\(folder)/\(passwordName)"
        guard let file = app.passwordFile, PrivateFile.isThere(file) else {
            proof.untried[.apps] = "there is no app login to use: run `postern-agent-app prove`"
            return
        }
        do throws(AgentFailure) {
            let password = try BoardFiles.busPassword(app, strictestMode: RuleContent.mode)
            let login = BusProbe.options(bus, prover, password, "app")
            let outcome = RightsTrial.run(
                RightsProof.appActs + RightsProof.controlActs, as: login,
                witness: .init(agent, says: BusProbe.topic))
            proof.note(.apps, RightsProof.appActs, of: outcome, as: "the app \(prover)")
            proof.note(
                .control, RightsProof.controlActs, of: outcome, as: "the app \(prover)")
        } catch {
            proof.untried[.apps] = error.sentence
        }
    }

    /// Tries at the upstream broker: without a login, and as this board while no agent runs.
    static func uplink(
        _ settings: BoardSettings, _ status: JSONObject?, _ place: BoardPlace, isRunning: Bool,
        at address: String?
    ) -> RightsProof {
        var proof = RightsProof()
        let (uri, tls) = UplinkProbe.way(settings, status)
        proof.tryStrangers(at: ConnectOptions(
            uri: uri, address: address, clientID: BusProbe.clientID("prove"), keepAlive: 0,
            tls: tls))
        let parts: [RightsProof.Part] = [.inbox, .authority, .list, .control]
        guard !isRunning else {
            for part in parts {
                proof.untried[part] = "the agent uses this board's login at the broker: stop the "
                    + "agent first, or run `postern-authority doctor --prove`"
            }
            return proof
        }
        guard status != nil else { return proof }
        UplinkTrial.withLogin(place.configDir, at: address) { login, board in
            guard let other = try? InstallationID(random: RandomBytes.make(16)) else { return }
            proof.tryBoard(as: login, own: board, other: other, root: settings.topicRoot)
        }
        return proof
    }
}

extension BoardCheck {
    /// The checks of `doctor --prove`.
    static let proofs = busProofs + upstreamProofs(group: .uplink, needs: [.agent, .proof]) {
        $0.uplinkProof
    }

    private static let busProofs: [BoardCheck] = {
        let next = "compare the broker's access list with Devices/linux-generic/acl, and check in "
            + "the broker's log that it was loaded"
        let rows: [(String, RightsProof.Part, String, String)] = [
            ("prove-bus-login", .login, "the board's own broker lets nobody in without a login",
             "a client without a login can pose as any app"),
            ("prove-bus-list", .list, "the access list of the board's own broker has effect",
             "without it every login may do everything, and no other check shows it"),
            ("prove-bus-apps", .apps, "no app may write or read under another app's name",
             "only this list proves that the app's name in a topic is true"),
            ("prove-bus-control", .control, "neither an app nor the agent may command the broker",
             "a client that writes to $CONTROL can give itself every right"),
        ]
        return rows.map { id, part, about, why in
            .proof(id, .bus, [part], about: about, why: why,
                   next: part == .login ? "set `allow_anonymous false` and a "
                       + "`password_file` in the broker's configuration" : next,
                   needs: [.proof]) { $0.busProof }
        }
    }()
}
