import AgentCore
import AgentService
import AgentStore
import ConfigurationFiles
import Cryptography
import Doctor
import Gate
import LinuxIO
import MQTT
import Sessions
import Wire

/// The facts that doctor's checks use.
struct BoardFacts: Examined {
    enum Probe: Hashable, CaseIterable { case agent, key, bus, reach, login, disk, proof }

    /// Why `agent.toml` cannot be used.
    var agentFault: String?
    /// Why `policy.toml` cannot be used.
    var policyFault: String?
    var settings: BoardSettings?
    var policy: Policy?
    /// The digest of both files at present; see `RuleContent.digest`.
    var digest: String?
    /// The files that are too open or have a foreign owner, one sentence each.
    var modeFaults: [String] = []
    var isRunning = false
    /// The file of a prepared claim that was not erased.
    var claimFile: String?
    /// Why an agent that seems to run does not answer.
    var askingFault: String?
    /// Why the state folder could not be opened while no agent runs.
    var vaultFault: String?
    /// Whether `vaultFault` concerns the key source or the configuration.
    var vaultIsOfKey = false
    /// The status from the running agent, or from the state folder if none runs.
    var status: JSONObject?
    /// The local broker's answer to the agent's login; nil if it was not tried.
    var busLogin: BrokerLoginTest.Answer?
    /// The local broker's answer without a login.
    var anonymousBus: BrokerLoginTest.Answer?
    /// The result for each step to the upstream broker.
    var reach: Reach?
    /// The upstream broker's answer to this board's login, tried only while no agent runs.
    var uplinkLogin: BrokerLoginTest.Answer?
    /// The results of tries that each broker must refuse; nil if none were made.
    var busProof: RightsProof?
    var uplinkProof: RightsProof?
    var disk: DiskFacts?
    var mosquittoVersion = Library.version
    var mosquittoAborts = Library.abortsOnMalformedPackets
    /// The versions of this program, of its libraries and of the kernel.
    var versions = [
        ("postern-agent", Release.version), ("OpenSSL", LinkedOpenSSL.version),
        ("kernel", KernelRelease.current),
    ]
    var now = Timestamp(milliseconds: SystemClock.wallMilliseconds)

    /// The rules of the running agent; nil if none runs.
    var rulesInForce: JSONObject? { isRunning ? try? status?.object("policy") : nil }

    /// The running agent's text about its uplink; nil if none runs.
    var uplinkText: String? { isRunning ? status?.text("uplink") : nil }
}

extension BoardFacts {
    /// Reads the files, asks the agent and makes the tries in `probes`. Changes nothing.
    init(_ place: BoardPlace, _ probes: Set<Probe> = Set(Probe.allCases).subtracting([.proof])) {
        let folder = place.configDir
        readFiles(in: folder)
        claimFile = ClaimFile.places(configDir: folder, stateDir: settings?.stateDir)
            .first(where: \.isThere)?.path
        guard let settings else {
            modeFaults = [
                FileModes.fault(RuleContent.agentPath(in: folder), RuleContent.mode),
                Self.folderFault(folder),
            ].compactMap(\.self)
            if probes.contains(.agent) { askRunning(RuleContent.controlPath(in: folder)) }
            return
        }
        // Continues as the agent's user, so that the checks find files which the agent may not
        // read.
        do throws(SystemError) {
            try ProcessOwner.stepDown(toOwnerOf: settings.stateDir)
        } catch {
            modeFaults.append("\(error)")
        }
        readRestored(settings)
        modeFaults += Self.modeFaults(settings, folder)
        // The agent's answer gives the upstream broker's address, and shows whether a login may be
        // tried.
        if !probes.isDisjoint(with: [.agent, .key, .reach, .login, .proof]) { ask(settings, place) }
        if probes.contains(.key), status != nil { askKey(settings, place) }
        if probes.contains(.bus) { knock(settings.bus, settings.routes) }
        if probes.contains(.disk) { disk = Self.disk(settings, status) }
        if probes.contains(.proof) { prove(settings, place) }
        guard !probes.isDisjoint(with: [.reach, .login]) else { return }
        reach = UplinkProbe.reach(settings, status)
        // Without a state there is no login, and the try would create a state.
        if probes.contains(.login), !isRunning, status != nil, reach?.broken == nil {
            uplinkLogin = UplinkProbe.login(place, at: reach?.address, root: settings.topicRoot)
        }
    }

    /// Reads the files' content. Another check looks at their modes.
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

    /// Rules of the replaced board are in force where the files have none.
    private mutating func readRestored(_ settings: BoardSettings) {
        do throws(AgentFailure) {
            let restored = try RestoredRules(
                of: settings, policy: policy == nil, routes: settings.routes.isEmpty)
            if settings.routes.isEmpty { self.settings?.routes = restored.routes }
            if policyFault == nil { policy = policy ?? restored.policy }
        } catch {
            policyFault = policyFault ?? error.sentence
        }
    }

    private static func modeFaults(_ settings: BoardSettings, _ folder: String) -> [String] {
        let rules = [RuleContent.agentPath(in: folder), RuleContent.policyPath(in: folder)]
        let state = ["storage.key", "vault", "vault.copy"]
            .map { "\(settings.stateDir)/\($0)" }
        let password = [settings.bus.passwordFile].compactMap(\.self)
        var faults = (rules + password).map { FileModes.fault($0, RuleContent.mode) }
        faults += state.map { FileModes.fault($0, 0o600) }
        faults.append(FileModes.fault(ofFolder: settings.stateDir))
        faults.append(folderFault(folder))
        return faults.compactMap(\.self)
    }

    private static func folderFault(_ folder: String) -> String? {
        do throws(AgentFailure) {
            try RuleContent.checkFolder(folder)
            return nil
        } catch {
            return error.sentence
        }
    }

    private mutating func ask(_ settings: BoardSettings, _ place: BoardPlace) {
        do throws(AgentFailure) {
            status = try BoardFiles.askRunning("\(settings.runDir)/agent.sock", .status)
            isRunning = status != nil
        } catch {
            askingFault = error.sentence
        }
        guard !isRunning, askingFault == nil else { return }
        guard BoardStore.exists(in: settings.stateDir) else { return }
        do throws(AgentFailure) {
            let answer = try OpenBoard(try BoardFiles(folder: place.configDir)).answer(.status)
            status = answer.asObject.map(JSONObject.init)
        } catch {
            // Modes and malformed files have their own checks.
            if policyFault == nil, modeFaults.isEmpty {
                vaultFault = error.sentence
                vaultIsOfKey = error.status == .badConfiguration
            }
        }
    }

    /// Adds the key source and its alternatives to the status. Asks each source.
    private mutating func askKey(_ settings: BoardSettings, _ place: BoardPlace) {
        guard status != nil else { return }
        let path = "\(settings.runDir)/agent.sock"
        let answer = isRunning
            ? (try? BoardFiles.askRunning(path, .vault))??.members
            : (try? OpenBoard(try BoardFiles(folder: place.configDir)).answer(.vault))?.asObject
        if let answer, answer["source"] != nil { status?.members["key"] = .object(answer) }
    }

    /// Asks an agent that was started before `agent.toml` became invalid.
    private mutating func askRunning(_ path: String) {
        status = (try? BoardFiles.askRunning(path, .status)) ?? nil
        isRunning = status != nil
    }

    private mutating func knock(_ bus: BoardSettings.Bus, _ routes: [Route]) {
        let password: SecretBytes?
        do throws(AgentFailure) {
            password = try BoardFiles.busPassword(bus, strictestMode: 0o777)
        } catch {
            busLogin = .refused("the password cannot be read: \(error.sentence)")
            return
        }
        let answer = BusProbe.agent(bus, password, routes)
        busLogin = answer
        if case .unreachable = answer { return }
        anonymousBus = bus.username == nil ? answer : BusProbe.stranger(bus)
    }

    /// Tries what the brokers must refuse. The upstream broker is skipped if it cannot be reached;
    /// the reach check reports why.
    private mutating func prove(_ settings: BoardSettings, _ place: BoardPlace) {
        let password = (try? BoardFiles.busPassword(settings.bus, strictestMode: 0o777)) ?? nil
        busProof = BoardRightsProbe.bus(settings.bus, password, in: place.configDir)
        let reach = UplinkProbe.reach(settings, status)
        guard reach.broken == nil else { return }
        uplinkProof = BoardRightsProbe.uplink(
            settings, status, place, isRunning: isRunning, at: reach.address)
    }

    private static func disk(_ settings: BoardSettings, _ status: JSONObject?) -> DiskFacts {
        let queued = (try? status?.object("queue").integer("bytes")) ?? 0
        return DiskFacts(
            of: settings.stateDir, wanted: max(0, settings.outbox.maxBytes.bytes - queued))
    }
}
