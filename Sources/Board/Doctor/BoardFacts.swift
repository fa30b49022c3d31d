import AgentCore
import Gate
import LinuxIO
import Mosquitto
import Sessions
import Settings
import Wire

/// All that doctor's checks decide from.
struct BoardFacts {
    /// Why `agent.toml` cannot be used.
    var agentFault: String?
    /// Why `policy.toml` cannot be used.
    var policyFault: String?
    var settings: BoardSettings?
    var policy: Policy?
    /// Of both files as they are now; see `RuleContent.digest`.
    var digest: String?
    /// What is too open or another's, a sentence each.
    var modeFaults: [String] = []
    var isRunning = false
    /// Why an agent that seems to run does not answer.
    var askingFault: String?
    /// What the running agent says, or, without one, what its state folder holds.
    var status: JSONObject?
    /// With the agent's own login; nil: not asked.
    var busLogin: BusProbe.Answer?
    /// Without a login.
    var anonymousBus: BusProbe.Answer?
    var mosquittoVersion = Library.version
    var mosquittoAborts = Library.abortsOnMalformedPackets
    var now = Timestamp(milliseconds: SystemClock.wallMilliseconds)

    /// The rules of the running agent.
    var rulesInForce: JSONObject? { isRunning ? try? status?.object("policy") : nil }
}

extension BoardFacts {
    /// Reads the files, asks the agent and the broker. Changes nothing.
    init(_ place: BoardPlace) {
        let folder = place.configDir
        readFiles(in: folder)
        guard let settings else {
            modeFaults = [Self.modeFault(RuleContent.agentPath(in: folder), RuleContent.mode)]
                .compactMap(\.self)
            askRunning(RuleContent.controlPath(in: folder))
            return
        }
        modeFaults = Self.modeFaults(settings, folder)
        ask(settings, place)
        knock(settings.bus)
    }

    /// What stands in them; how they are protected is another check's.
    private mutating func readFiles(in folder: String) {
        let anyMode: UInt32 = 0o777
        do throws(AgentFailure) {
            let content = try RuleContent(
                folder: folder, withoutPolicy: true, strictestMode: anyMode)
            settings = try content.settings()
        } catch {
            agentFault = error.sentence
        }
        do throws(AgentFailure) {
            policy = try RuleContent.policy(in: folder, strictestMode: anyMode)
        } catch {
            policyFault = error.sentence
        }
        digest = (try? RuleContent(folder: folder, strictestMode: anyMode))?.digest
    }

    private static func modeFaults(_ settings: BoardSettings, _ folder: String) -> [String] {
        let rules = [RuleContent.agentPath(in: folder), RuleContent.policyPath(in: folder)]
        let state = ["storage.key", "board.db"].map { "\(settings.stateDir)/\($0)" }
        let password = [settings.bus.passwordFile].compactMap(\.self)
        var faults = (rules + password).map { modeFault($0, RuleContent.mode) }
        faults += state.map { modeFault($0, 0o600) }
        do throws(FileFailure) {
            try PrivateFolder.check(settings.stateDir)
        } catch {
            if case .missing = error {} else { faults.append("\(error)") }
        }
        return faults.compactMap(\.self)
    }

    /// A file that is not there is no fault of its mode.
    private static func modeFault(_ path: String, _ mode: UInt32) -> String? {
        do throws(FileFailure) {
            try PrivateFile.check(path, strictestMode: mode)
            return nil
        } catch {
            if case .missing = error { return nil }
            return "\(error)"
        }
    }

    private mutating func ask(_ settings: BoardSettings, _ place: BoardPlace) {
        do throws(AgentFailure) {
            status = try BoardFiles.askRunning("\(settings.runDir)/agent.sock", .status)
            isRunning = status != nil
            guard !isRunning, PrivateFile.isThere(settings.stateDir + "/board.db") else { return }
            let answer = try StandingBoard(try BoardFiles(place)).answer(.status)
            status = answer.asObject.map(JSONObject.init)
        } catch {
            if agentFault == nil, policyFault == nil, modeFaults.isEmpty {
                askingFault = error.sentence
            }
        }
    }

    /// An agent that was started on better files.
    private mutating func askRunning(_ path: String) {
        status = (try? BoardFiles.askRunning(path, .status)) ?? nil
        isRunning = status != nil
    }

    private mutating func knock(_ bus: BoardSettings.Bus) {
        let password: SecretBytes?
        do throws(AgentFailure) {
            password = try BoardFiles.busPassword(bus, strictestMode: 0o777)
        } catch {
            busLogin = .refused("the password cannot be read: \(error.sentence)")
            return
        }
        let answer = BusProbe.knock(
            bus.uri, username: bus.username, password: password, tls: bus.tls)
        busLogin = answer
        if case .unreachable = answer { return }
        anonymousBus = bus.username == nil
            ? answer : BusProbe.knock(bus.uri, username: nil, password: nil, tls: bus.tls)
    }
}
